import { readAtMost } from '../streams/byte-streams.ts';
import { parseObject } from './parse-object.ts';
import { invalidAnswer, PortholeError } from './porthole-error.ts';
import { readRetryAfter, retryDelay } from './retry-delay.ts';
import { wait } from './wait.ts';

/** Limit in bytes, above every error of the API: proxies may respond with pages. */
const MAX_BYTES = 65_536;

/**
 * The error of a response: `{"error", "code"}` in the API's own words, without secrets.
 * @param call the request, e.g. `GET /v1/sandbox`
 */
export async function readError(
  response: Response,
  call: string,
  secrets: readonly (string | undefined)[],
): Promise<PortholeError> {
  const { status } = response;
  const bytes = await readAtMost(response.body, MAX_BYTES).catch(() => new Uint8Array());
  const {
    error,
    code,
    retryable,
    remedy,
    request_id: requestId,
  } = parseObject(new TextDecoder().decode(bytes));
  const isOurs = typeof error === 'string' && typeof code === 'string';
  const message = isOurs
    ? error
    : `${call} was answered with status ${status}, and not by Porthole: see that the URL is that of its API.`;
  return new PortholeError(redact(message, secrets), {
    status,
    code: isOurs ? code : `status_${status}`,
    retryable: typeof retryable === 'boolean' ? retryable : undefined,
    retryAfterMs: readRetryAfter(response.headers.get('retry-after'), new Date()),
    remedy: !isOurs
      ? 'See that the URL is that of its API.'
      : typeof remedy === 'string'
        ? redact(remedy, secrets)
        : undefined,
    requestId: typeof requestId === 'string' ? requestId : undefined,
  });
}

export interface HttpClientOptions {
  /** URL of Porthole's API, e.g. `http://127.0.0.1:8787`; a path in it is kept. */
  readonly url: string;
  /** A key, an OIDC token, or any other credential of Porthole; opaque to the client. */
  readonly apiKey?: string | undefined;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** Request bodies. A stream can be sent only once; the others can be resent. */
export type Content = string | Uint8Array | Blob | ReadableStream<Uint8Array> | FormData;

/** Method and path below the API's URL, each part of it percent-encoded: `GET v1/sandbox`. */
type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;

export interface Call {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly json?: unknown;
  readonly content?: Content;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Whether a repetition has no further effect. Defaults to the semantics of the HTTP method. */
  readonly isIdempotent?: boolean;
  /**
   * Timeout in milliseconds until the response begins; 0: none. The body has no timeout.
   * @default 120,000
   */
  readonly timeoutMs?: number;
  /** Whether a person may have to decide first: then it is repeated until the decision. */
  readonly waits?: boolean;
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 120_000;
/**
 * A call that waits and was held this long, in milliseconds, has reached Porthole, and something
 * between ended it: API Gateway does so after 29 seconds.
 */
const HELD_MS = 5_000;
/** Longer than Porthole waits for a decision, in milliseconds. */
const DECIDED_MS = 330_000;

/**
 * Calls the API with one credential. Errors of the API become `PortholeError`; idempotent calls are
 * retried a few times after transient errors.
 */
export class HttpClient {
  readonly url: URL;
  readonly #fetch: typeof globalThis.fetch;
  readonly #apiKey: string | undefined;

  constructor({ url, apiKey, fetch = globalThis.fetch }: HttpClientOptions) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw new TypeError('url must be the http(s) address of Porthole, e.g. http://127.0.0.1:8787.');
    }
    this.url = new URL(url.endsWith('/') ? url : `${url}/`);
    if (this.url.username !== '' || this.url.search !== '' || this.url.hash !== '') {
      throw new TypeError('url must have no user, query or fragment: give the credential as apiKey.');
    }
    if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError('apiKey must be printable ASCII without spaces: look for a line break at its end.');
    }
    // Browsers reject `fetch` called with another `this`.
    this.#fetch = (input, init) => fetch(input, init);
    this.#apiKey = apiKey === '' ? undefined : apiKey;
  }

  /** For clients that cannot use `fetch`, such as a WebSocket. */
  get authorization(): string | undefined {
    return this.#apiKey === undefined ? undefined : `Bearer ${this.#apiKey}`;
  }

  at(path: string, query: Call['query'] = {}): URL {
    const url = new URL(this.url.href + path);
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue;
      for (const each of Array.isArray(value) ? (value as readonly string[]) : [value]) {
        url.searchParams.append(name, String(each));
      }
    }
    return url;
  }

  /** @throws PortholeError; the signal's reason */
  async json<T>(route: Route, call: Call = {}): Promise<T> {
    const headers = { accept: 'application/json', ...call.headers };
    const response = await this.send(route, { ...call, headers });
    try {
      return (await response.json()) as T;
    } catch (cause) {
      call.signal?.throwIfAborted();
      const message = `Porthole's answer to ${nameOf(route)} is no JSON: is url the API's address?`;
      throw invalidAnswer(message, cause, response.status);
    }
  }

  /** The list in a field of the answer. @throws PortholeError; the signal's reason */
  async list<T>(field: string, route: Route, call?: Call): Promise<readonly T[]> {
    return (await this.json<Readonly<Record<string, readonly T[]>>>(route, call))[field] ?? [];
  }

  /** For calls without a response body. */
  async done(route: Route, call?: Call): Promise<void> {
    const response = await this.send(route, call);
    await response.body?.cancel();
  }

  /** @throws PortholeError; the signal's reason */
  async send(route: Route, call: Call = {}): Promise<Response> {
    const isOnce = call.content instanceof ReadableStream;
    const mayRepeat = !isOnce && (call.isIdempotent ?? !route.startsWith('POST '));
    const began = performance.now();
    for (let retries = 0; ; retries += 1) {
      const called = performance.now();
      try {
        return await this.#once(route, call);
      } catch (error) {
        if (!(error instanceof PortholeError) || !mayRepeat) throw error;
        const now = performance.now();
        if (call.waits === true && now - called >= HELD_MS && now - began < DECIDED_MS) retries = 0;
        const delay = retryDelay(error, retries, Math.random());
        if (delay === undefined) throw error;
        await wait(delay, call.signal);
      }
    }
  }

  async #once(route: Route, call: Call): Promise<Response> {
    const { query, json, content, timeoutMs = TIMEOUT_MS, signal } = call;
    const [method, path] = partsOf(route);
    signal?.throwIfAborted();
    const limit = new AbortController();
    const timer = timeoutMs === 0 ? undefined : setTimeout(() => limit.abort(), timeoutMs);
    const signals = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
    const body = json === undefined ? content : JSON.stringify(json);
    const headers = new Headers();
    if (json !== undefined) headers.set('content-type', 'application/json');
    else if (content !== undefined && !(content instanceof FormData)) {
      headers.set('content-type', 'application/octet-stream');
    }
    if (this.authorization !== undefined) headers.set('authorization', this.authorization);
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers.set(name, value);
    }
    const init: RequestInit & { duplex?: 'half' } = {
      method,
      headers,
      signal: signals,
      // A redirect may lead to another server, which must not get the credential.
      redirect: 'error',
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit['body']> }),
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
    };
    let response: Response;
    try {
      response = await this.#fetch(this.at(path, query), init);
    } catch (cause) {
      signal?.throwIfAborted();
      const why = limit.signal.aborted ? `no answer in ${timeoutMs / 1_000} s` : reasonOf(cause);
      throw this.#unreachable(route, why, cause);
    } finally {
      clearTimeout(timer);
    }
    if (response.ok) return response;
    throw await readError(response, nameOf(route), [this.#apiKey]);
  }

  #unreachable(route: Route, reason: string, cause: unknown): PortholeError {
    const words = `Porthole could not be reached at ${this.url.origin} for ${nameOf(route)} (${reason}): see that it runs, and that the URL is right.`;
    return new PortholeError(redact(words, [this.#apiKey]), {
      status: 0,
      code: 'unreachable',
      remedy: 'See that it runs, and that the URL is right.',
      cause,
    });
  }
}

function partsOf(route: Route): [method: string, path: string] {
  const at = route.indexOf(' ');
  return [route.slice(0, at), route.slice(at + 1)];
}

function nameOf(route: Route): string {
  const [method, path] = partsOf(route);
  return `${method} /${path.length > 100 ? `${path.slice(0, 100)}…` : path}`;
}

/** `fetch` reports only "fetch failed"; the cause has the reason. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as {
    readonly message?: unknown;
    readonly cause?: { readonly message?: unknown; readonly code?: unknown };
  };
  // OpenSSL reads the first bytes of plain HTTP as the version of a TLS record.
  if (cause?.code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'the server there does not speak TLS: use http:// in the URL';
  const detail = [cause?.message, message].find((each) => typeof each === 'string' && each !== '');
  return typeof detail === 'string' ? detail : 'no reason given';
}

/** Removes secrets from a text. */
export function redact(text: string, secrets: readonly (string | undefined)[]): string {
  return secrets.reduce<string>(
    (left, secret) => (secret === undefined || secret === '' ? left : left.replaceAll(secret, '[secret]')),
    text,
  );
}
