import { hearServerTime } from '../live/clock.ts';
import { checkConnection } from '../live/connection.ts';
import type { Api } from './api.ts';

export type Route = keyof Api;
export type Answer<R extends Route> = Api[R]['answer'];

/** An error of the API, with its message. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Further fields of the error: `holder` of a lock, `field` of a schema. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    code: string,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

type Given<T> = keyof T extends never ? undefined : T;

export interface CallInput<R extends Route> {
  readonly path?: Given<Api[R]['path']>;
  readonly query?: Api[R]['query'];
  readonly body?: Api[R]['body'];
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | null;
  /** Continues after the page is closed. */
  readonly keepalive?: boolean;
}

/** Called when the API rejects the session. */
let signedOut: () => void = () => undefined;
export function onSignedOut(listener: () => void): void {
  signedOut = listener;
}

/**
 * Encodes one path segment: `..`, in any encoding, would point a crafted link to another route.
 * Encoded twice it names nothing.
 */
function segment(text: string): string {
  return /^\.{1,2}$/.test(text) ? text.replaceAll('.', '%252e') : encodeURIComponent(text);
}

/** The address of a route, for content other than JSON. */
export function addressOf(
  route: Route,
  path: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): string {
  const [, template = ''] = route.split(' ');
  const address = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'path' ? (path[name] ?? '').split('/').map(segment).join('/') : segment(path[name] ?? ''),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  return search.size === 0 ? address : `${address}?${search}`;
}

/**
 * Sends a request and detects the end of the session.
 * @throws TypeError when the server cannot be reached
 */
export async function ask(address: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if (init.signal?.aborted !== true) void checkConnection();
    throw error;
  }
  hearServerTime(response);
  if (response.status === 401) signedOut();
  return response;
}

/** @throws ApiError; TypeError when the server cannot be reached */
export async function request(address: string, init: RequestInit = {}): Promise<Response> {
  const response = await ask(address, init);
  if (response.ok) return response;
  throw refusal(response.status, await response.text().catch(() => ''));
}

/** The error of a response. Pages of proxies are not shown. */
export function refusal(status: number, body: string): ApiError {
  const { error, code, ...details } = parsed(body);
  const words =
    typeof error === 'string'
      ? error
      : status === 413
        ? 'It is more than is taken here at once.'
        : `The server answered ${status}.`;
  return new ApiError(status, typeof code === 'string' ? code : '', words, details);
}

/** Reports the end of the session, for requests not sent by `ask`. */
export function hearSignedOut(): void {
  signedOut();
}

function parsed(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Calls a typed route. */
export async function call<R extends Route>(
  route: R,
  { path, query, body, headers, signal = null, keepalive = false }: CallInput<R> = {},
): Promise<Answer<R>> {
  const [method = 'GET'] = route.split(' ');
  const response = await request(addressOf(route, path, query), {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    signal,
    keepalive,
  });
  return (response.status === 204 ? null : await response.json()) as Answer<R>;
}
