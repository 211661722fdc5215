import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { PortholeError } from '../base/errors.ts';
import { GUEST_ERRORS, type GuestErrorCode } from '../protocol/guest/http-protocol.ts';

/** A refusal of the guest. */
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

/** One request: its URL, and the path parameters of its route. */
export interface RequestContext {
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  /** Aborted when the connection ends before the answer does. */
  readonly signal: AbortSignal;
}

/** Answers a request. An error that it throws becomes the answer, unless the head was sent. */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => void | Promise<void>;

/**
 * Takes over a connection that requested an upgrade. `head` contains bytes received after the
 * request.
 */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  context: Omit<RequestContext, 'signal'>,
) => void | Promise<void>;

/** `'GET /v1/processes/{id}'` → its handler. */
export type Routes<H> = Readonly<Record<string, H>>;

interface Route<H> {
  readonly method: string;
  readonly parts: readonly string[];
  readonly handler: H;
}

/**
 * The first path segment after the version → its routes, or a function that loads them on the first
 * request.
 */
export type Areas<H> = Readonly<Record<string, Routes<H> | (() => Promise<Routes<H>>)>>;

/** Finds the handler of a request by method and path. Loads handlers on demand to save memory. */
export class Router<H> {
  readonly #areas: Areas<H>;
  readonly #loaded = new Map<string, Promise<readonly Route<H>[]>>();

  constructor(areas: Areas<H>) {
    this.#areas = areas;
  }

  /** @throws GuestError `not_found`, `method_not_allowed` */
  async find(method: string, path: string): Promise<{ handler: H; params: Record<string, string> }> {
    const parts = path.split('/');
    const allowed: string[] = [];
    for (const route of await this.#routesOf(parts[2] ?? '')) {
      const params = matchParts(route.parts, parts);
      if (params === undefined) continue;
      if (route.method === method) return { handler: route.handler, params };
      allowed.push(route.method);
    }
    if (allowed.length === 0) throw new GuestError('not_found', `${method} ${path}: no such route.`);
    throw new GuestError('method_not_allowed', `${method} ${path}: use ${allowed.join(' or ')}.`);
  }

  async #routesOf(name: string): Promise<readonly Route<H>[]> {
    const area = Object.hasOwn(this.#areas, name) ? this.#areas[name] : undefined;
    if (area === undefined) return [];
    let loaded = this.#loaded.get(name);
    if (loaded === undefined) {
      loaded = Promise.resolve(typeof area === 'function' ? area() : area).then(routesOf);
      this.#loaded.set(name, loaded);
      loaded.catch(() => this.#loaded.delete(name));
    }
    return loaded;
  }
}

function routesOf<H>(table: Routes<H>): Route<H>[] {
  return Object.entries(table).map(([name, handler]) => {
    const [method = '', path = ''] = name.split(' ');
    return { method, parts: path.split('/'), handler };
  });
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
  response.writeHead(status, headersOf(body));
  response.end(body);
}

/** A refusal of the guest; its code and its body are part of the protocol. */
export interface Refused {
  readonly status: number;
  readonly body: string;
}

/** Refuses an unauthorized request without reading its body. */
export function turnAway(response: ServerResponse, refused: Refused): void {
  const body = Buffer.from(refused.body);
  response.writeHead(refused.status, { ...headersOf(body), connection: 'close' });
  response.end(body);
}

/**
 * Refuses a request at once, and then reads the rest of it: closing a connection with unread bytes
 * may discard the answer before the client reads it (RFC 9112 §9.6).
 */
export async function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  refused: Refused,
): Promise<void> {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = Buffer.from(refused.body);
  response.writeHead(refused.status, headersOf(body));
  response.write(body);
  if (!request.complete) await once(request.resume(), 'close').catch(() => undefined);
  response.end();
}

const headersOf = (body: Buffer) => ({ 'content-type': 'application/json', 'content-length': body.length });

/** The body of a request. Leaving the iteration early keeps the request open for `refuse`. */
export function bodyOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false });
}

/** What an error is answered with. Refusals of files have the API's codes and messages. */
export function refusalOf(error: unknown): Refused {
  if (error instanceof GuestError) return error;
  if (error instanceof PortholeError) {
    return { status: error.status, body: JSON.stringify({ error: error.message, code: error.code }) };
  }
  const what = error instanceof Error ? error.message : String(error);
  return new GuestError('internal_error', `The guest failed: ${what}. Try again.`);
}
