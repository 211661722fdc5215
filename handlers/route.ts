import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Caller, Person, SharedAccess } from '#core/callers.ts';
import type { ErrorCode } from '#base/errors.ts';
import type { GrantLimit, Scope } from '#core/delegations/delegation-store.ts';
import type { RouteClass } from './http/admit.ts';
import type { ErrorBody, Handshake, HttpEvent, HttpResponse } from './http/http-event.ts';
import type { Services } from './services.ts';

/** The version in `package.json`. */
export const VERSION = '0.2.0';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a route for clients of another API finds elsewhere in a request. */
export type Received = Partial<Pick<HttpEvent, 'headers' | 'pathParameters'>>;

/** The successful response, for the OpenAPI document. */
export interface ResponseDoc {
  readonly description: string;
  /** JSON of this schema … */
  readonly schema?: z.ZodType;
  /** … or other content types; both if the caller chooses. Neither: no body. */
  readonly contentType?: string | readonly string[];
}

/** One part of a form, for the OpenAPI document; the handler validates it on arrival. */
export interface FormPart {
  readonly description: string;
  /** A file's bytes; otherwise text. */
  readonly file?: boolean;
  /** Repeatable, up to the route's limits. */
  readonly many?: boolean;
  readonly required?: boolean;
  readonly example?: string;
}

/** A `multipart/form-data` body, which the handler reads with `multipartParts`. */
export interface FormBody {
  readonly form: Readonly<Record<string, FormPart>>;
}

/** A validated request of an authenticated caller. */
export interface RouteRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  /**
   * The caller, on routes for neither agents nor delegates.
   * @throws PortholeError `forbidden` on others
   */
  readonly person: Person;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The unread body, for routes that stream it, or read a form. */
  readonly stream: () => Readable;
  /** Set if the response may be an `upgrade` to a WebSocket. */
  readonly handshake: Handshake | undefined;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal | undefined;
  /** Source address of the connection, on runtimes that provide it. */
  readonly sourceIp: string | undefined;
  /** Removes secrets from a text that repeats input, for routes with their own error format. */
  readonly redact: (text: string) => string;
}

/** What a route says of itself beside its name and its address. */
export interface RouteOptions<Params = unknown, Query = unknown, Body = unknown> {
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /**
   * `anyone`: credentials are ignored. `caller`: authentication is required. `key`: like `caller`,
   * and `?token=` may carry the credential. `local`: no authentication on a loopback address;
   * elsewhere like `caller`. @default caller
   */
  readonly access?: 'anyone' | 'caller' | 'key' | 'local';
  /** Whether a run's agent may call it; default false. */
  readonly agents?: boolean;
  /**
   * What it needs of a run that is shared with the person's organisation, and whether its `id` is
   * the run or the sandbox of one; default: people who are neither owner nor admin are refused.
   */
  readonly shared?: { readonly [of in SharedAccess['of']]?: SharedAccess['needs'] };
  /**
   * Scope that a delegate needs; default: delegates are refused. The route enforces a grant's
   * limits or refuses limited grants.
   */
  readonly delegates?: { readonly scope: Scope; readonly enforces?: GrantLimit };
  /**
   * An operation of the Cloudflare sandbox bridge: its clients work unchanged. Other routes are
   * additions.
   */
  readonly bridge?: boolean;
  /**
   * Accepts WebSocket handshakes. Not every client can set headers on one, so
   * `?authorization=Bearer%20…` may carry the credential.
   */
  readonly socket?: boolean;
  /** The class of its limits. @default cheap */
  readonly class?: RouteClass;
  /** For anyone, but it needs the installation's settings: it signs people in. */
  readonly signsIn?: boolean;
  /** `WWW-Authenticate` of its 401. @default Bearer */
  readonly challenge?:
    | ((services: Services, headers: HttpEvent['headers']) => string | undefined)
    | undefined;
  /**
   * Its body or response is a stream: on runtimes that buffer, it fails with `not_streamable`.
   * @default false
   */
  readonly streams?: boolean;
  /** Whether a run's agent may also call it through its sandbox's own channel. @default false */
  readonly channel?: boolean;
  /** A page that a person may reach by a cross-site link. */
  readonly page?: boolean;
  /** A public document that pages of any origin may read (CORS). Only for `anyone`. */
  readonly anyOrigin?: boolean;
  /** For clients of another API: where they put the credential and parameters. Runs first. */
  readonly receives?: (event: HttpEvent, services: Services) => Received | Promise<Received>;
  /** The header that `receives` reads the parameter `id` from, for the OpenAPI document. */
  readonly idHeader?: string;
  /** For clients of another API: an error as it has them. @default Porthole's own */
  readonly errorShape?: (
    body: ErrorBody,
    status: number,
  ) => { readonly status: number; readonly body: object };
  /** Answers in its place where the query has `verbose`, as for its own callers. */
  readonly verbose?: Route;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  /** JSON body; absent: no body, `'stream'`: raw bytes, a form: a stream of its parts. */
  readonly body?: z.ZodType<Body> | 'stream' | FormBody;
  /** Maximum JSON body in bytes. @default 1 MiB */
  readonly jsonBytes?: number;
  /** Whether it needs the `Draft-Lock-Token` header. */
  readonly draftLock?: boolean;
  /** Whether it reads the `Session-Id` header. */
  readonly session?: boolean;
  /** Invalid JSON counts as an empty body, as in some bridge routes. @default rejected */
  readonly malformedBody?: 'ignored';
  readonly responses: Readonly<Record<number, ResponseDoc>>;
  /** Errors beyond those that all routes of its access share. */
  readonly errors?: readonly ErrorCode[];
  handle(request: RouteRequest<Params, Query, Body>, services: Services): Promise<HttpResponse>;
}

/** Metadata of a schema: another spelling of a documented property. */
export const ALIAS = 'x-porthole-alias';

/** Documentation of ids in paths: the use case validates them, with another error. */
export const ID_PATTERN = '^[A-Za-z0-9_-]{1,128}$';

export interface Route extends RouteOptions {
  /** The OpenAPI `operationId`; also the function's name in logs and metrics. */
  readonly id: string;
  readonly method: Method;
  /** OpenAPI path template. `{path}` at the end takes the rest of the URL. */
  readonly path: string;
}

/** Infers the three types from the schemas and erases them for the list of routes. */
export function defineRoute<Params = unknown, Query = unknown, Body = unknown>(
  id: string,
  method: Method,
  path: string,
  options: RouteOptions<Params, Query, Body>,
): Route {
  return { id, method, path, ...options };
}

/** A JSON answer. */
export function json(statusCode: number, value: unknown, headers: Record<string, string> = {}): HttpResponse {
  return {
    statusCode,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  };
}

/** Values of JSON, one a line (NDJSON). */
export function jsonLines(values: readonly unknown[], headers: Record<string, string> = {}): HttpResponse {
  return {
    statusCode: 200,
    headers: { 'content-type': 'application/x-ndjson', ...headers },
    body: values.map((value) => `${JSON.stringify(value)}\n`).join(''),
  };
}
