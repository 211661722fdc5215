import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import * as z from 'zod/mini';
import { GUEST_ERRORS, type GuestErrorCode, MAX_JSON } from './protocol/http.ts';

/** What the guest answers instead of what it was asked for. */
export class GuestError extends Error {
  readonly code: GuestErrorCode;
  /** More fields of the answer. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: GuestErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return GUEST_ERRORS[this.code];
  }

  get body(): string {
    return JSON.stringify({ error: this.message, code: this.code, ...this.details });
  }
}

/** One request: its URL, and the parts of the path that the route names. */
export interface RequestContext {
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  /** Aborted when the connection ends before the answer does. */
  readonly signal: AbortSignal;
}

/** Answers a request. What it throws becomes the answer while the head is not sent. */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => void | Promise<void>;

/** Takes a connection over that asked for an upgrade. `head` is what came right behind the request. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  context: Omit<RequestContext, 'signal'>,
) => void | Promise<void>;

/** `'GET /v1/processes/{id}'` → what answers it. */
export type Routes<H> = Readonly<Record<string, H>>;

interface Route<H> {
  readonly method: string;
  readonly parts: readonly string[];
  readonly handler: H;
}

/** Finds the handler of a request by method and path. */
export class Router<H> {
  readonly #routes: readonly Route<H>[];

  constructor(...tables: readonly Routes<H>[]) {
    this.#routes = tables
      .flatMap((table) => Object.entries(table))
      .map(([name, handler]) => {
        const [method = '', path = ''] = name.split(' ');
        return { method, parts: path.split('/'), handler };
      });
  }

  /** @throws GuestError `not_found`, `method_not_allowed` */
  find(method: string, path: string): { readonly handler: H; readonly params: Record<string, string> } {
    const parts = path.split('/');
    const allowed: string[] = [];
    for (const route of this.#routes) {
      const params = matchParts(route.parts, parts);
      if (params === undefined) continue;
      if (route.method === method) return { handler: route.handler, params };
      allowed.push(route.method);
    }
    if (allowed.length === 0) throw new GuestError('not_found', `${method} ${path}: no such route.`);
    throw new GuestError('method_not_allowed', `${method} ${path}: use ${allowed.join(' or ')}.`);
  }
}

function matchParts(
  pattern: readonly string[],
  parts: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const part = parts[index] as string;
    if (expected.startsWith('{')) {
      try {
        params[expected.slice(1, -1)] = decodeURIComponent(part);
      } catch {
        return undefined;
      }
    } else if (expected !== part) return undefined;
  }
  return params;
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const known = asGuestError(error);
  const body = Buffer.from(known.body);
  // What is left of the request's body is not read: the connection cannot carry another one.
  response.writeHead(known.status, {
    'content-type': 'application/json',
    'content-length': body.length,
    connection: 'close',
  });
  response.end(body);
}

export function asGuestError(error: unknown): GuestError {
  if (error instanceof GuestError) return error;
  const what = error instanceof Error ? error.message : String(error);
  return new GuestError('internal_error', `The guest failed: ${what}. Try again.`);
}

/** The body of a request as JSON that fits the schema. @throws GuestError `invalid_request`, `payload_too_large` */
export async function readJson<T>(request: IncomingMessage, schema: z.ZodMiniType<T>): Promise<T> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_JSON) throw new GuestError('payload_too_large', `The body is over ${MAX_JSON} bytes.`);
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString(), schema);
}

/** @throws GuestError `invalid_request` */
export function parseJson<T>(text: string, schema: z.ZodMiniType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new GuestError('invalid_request', 'The body is no JSON. Send a JSON object.');
  }
  return parse(value, schema);
}

/** @throws GuestError `invalid_request` that names the first field that is wrong */
export function parse<T>(value: unknown, schema: z.ZodMiniType<T>): T {
  const result = z.safeParse(schema, value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new GuestError(
    'invalid_request',
    `${path === '' ? 'The request' : path}: ${issue?.message ?? 'is wrong'}.`,
  );
}
