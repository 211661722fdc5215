import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import type { ErrorCode } from '#core/errors.ts';
import type { GrantLimit, Scope } from '#core/delegations/delegation-store.ts';
import type { Handshake, HttpResponse } from './http/http-event.ts';
import type { Services } from './services.ts';

/**
 * What a request costs. `cheap`: a look-up or a change. `heavy`: work on many files, or a transfer.
 * `stream`: as long as a client, a command or a person takes; it never waits for
 * a place.
 */
export type RouteClass = 'cheap' | 'heavy' | 'stream';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a successful answer looks like, for the OpenAPI document. */
export interface ResponseDoc {
  readonly description: string;
  /** JSON of this shape … */
  readonly schema?: z.ZodType;
  /** … or any other content type; both where the caller chooses. Neither: no body. */
  readonly contentType?: string;
}

/**
 * One part of a form, for the OpenAPI document; the handler validates it as it arrives.
 */
export interface FormPart {
  readonly description: string;
  /** A file's bytes; otherwise text. */
  readonly file?: boolean;
  /** As many as the route's limits allow. */
  readonly many?: boolean;
  readonly required?: boolean;
  readonly example?: string;
}

/** A `multipart/form-data` body, which the handler reads with `multipartParts`. */
export interface FormBody {
  readonly form: Readonly<Record<string, FormPart>>;
}

/** A request after its schema: typed, from an authenticated caller. */
export interface RouteRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The unread body, for routes that stream it, or read a form. */
  readonly stream: () => Readable;
  /** Where the answer may be an `upgrade` to a WebSocket. */
  readonly handshake: Handshake | undefined;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal | undefined;
  /** Where the connection comes from, where the runtime can tell. */
  readonly sourceIp: string | undefined;
  /**
   * Takes secrets out of a text that repeats what was sent, for routes with an error shape of their
   * own.
   */
  readonly redact: (text: string) => string;
}

export interface Route<Params = unknown, Query = unknown, Body = unknown> {
  /** The OpenAPI `operationId`; also the function's name in logs and metrics. */
  readonly id: string;
  readonly method: Method;
  /** OpenAPI path template. `{path}` at the end takes the rest of the URL. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /**
   * `anyone`: no credential is looked at. `caller`: authentication is required. `key`: like
   * `caller`, and `?token=` may carry the credential. `local`: no authentication on a loopback
   * address; elsewhere like `caller`.
   */
  readonly access: 'anyone' | 'caller' | 'key' | 'local';
  /** Whether a run's agent may call it at all; default false. */
  readonly agents?: boolean;
  /**
   * Scope that a delegate needs; default: delegates are refused. The route enforces a grant's
   * limits or refuses limited grants.
   */
  readonly delegates?: { readonly scope: Scope; readonly enforces?: GrantLimit };
  /**
   * An operation of the Cloudflare sandbox bridge: its clients work unchanged. The others are
   * additions.
   */
  readonly bridge?: boolean;
  /**
   * Answers WebSocket handshakes. As not every client can set headers on one, the credential may
   * stand in `?authorization=Bearer%20…`, too.
   */
  readonly socket?: boolean;
  /** Which limits count it. @default cheap */
  readonly class?: RouteClass;
  /** For anyone, and yet it needs to know the installation: it lets people in. */
  readonly signsIn?: boolean;
  /**
   * Its body or answer is a stream: where a runtime buffers, it is `not_streamable`. @default false
   */
  readonly streams?: boolean;
  /** Whether a run's agent reaches it on its sandbox's own channel, too. @default false */
  readonly channel?: boolean;
  /**
   * `console`: it answers with the console's files. `documents`: it needs the list of all routes.
   */
  readonly kind?: 'console' | 'documents';
  /** A page that a person may reach by a link from another site. */
  readonly page?: boolean;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  /** JSON body; absent means none, `'stream'` means raw bytes, a form is a stream of its parts. */
  readonly body?: z.ZodType<Body> | 'stream' | FormBody;
  /** The most JSON that it takes, in bytes. @default 1 MiB */
  readonly jsonBytes?: number;
  /** Whether it needs the `Draft-Lock-Token` header. */
  readonly draftLock?: boolean;
  /** Whether the `Session-Id` header says something to it. */
  readonly session?: boolean;
  /** What is no JSON counts as no body, as the bridge has it in places. @default refused */
  readonly malformedBody?: 'ignored';
  readonly responses: Readonly<Record<number, ResponseDoc>>;
  /** What it may answer beyond the codes that every route of its access shares. */
  readonly errors?: readonly ErrorCode[];
  handle(request: RouteRequest<Params, Query, Body>, services: Services): Promise<HttpResponse>;
}

/** Infers the three types from the schemas, and forgets them for the list of routes. */
export function defineRoute<Params = unknown, Query = unknown, Body = unknown>(
  route: Route<Params, Query, Body>,
): Route {
  return route;
}

/** A JSON answer. */
export function json(statusCode: number, value: unknown, headers: Record<string, string> = {}): HttpResponse {
  return {
    statusCode,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  };
}
