/** Where the API is, and who calls. */
export interface ClientOptions {
  /** E.g. `http://127.0.0.1:8787`; a path in it is kept. */
  readonly baseUrl: string;
  readonly agentToken: string;
  readonly fetch: typeof globalThis.fetch;
  /** How often a call that may wait for a person is renewed, in milliseconds. */
  readonly renewMs: number;
  /**
   * How long both calls of a renewal are open, in milliseconds, so that the new one joins the
   * approval before the old one is aborted.
   * @default 5,000
   */
  readonly overlapMs?: number | undefined;
  /**
   * How long Porthole may be unreachable in a row, e.g. during a restart, before a call fails, in
   * milliseconds.
   * @default 30,000
   */
  readonly awayMs?: number | undefined;
  /**
   * Longest time for an answer in all, in milliseconds.
   * @default 60,000, and 420,000 where a person may have to decide: five minutes for that, and time
   * to start
   */
  readonly limitMs?: number | undefined;
}

/** The API's response, or why it could not be reached. */
export type Reply =
  | { readonly kind: 'answered'; readonly data: unknown }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string };

export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `baseUrl`, without a leading slash. */
  readonly path: string;
  readonly body?: object;
  /** Whether a person may have to decide first. */
  readonly mayWait?: boolean;
}

const WAIT_MS = 420_000;
const POLL_MS = 60_000;

const MAX_PAUSE_MS = 4_000;

/**
 * Calls the API. Proxies cut idle connections after a minute or less, `fetch` after five minutes. A
 * call that waits for a person is therefore renewed in time: the new call joins the same approval
 * before the old one is aborted. A call that is lost, because a function was killed or a network
 * failed, is retried: Porthole answers a repeated call like the first.
 */
export async function callPorthole(
  options: ClientOptions,
  request: Request,
  signal?: AbortSignal,
): Promise<Reply> {
  const { renewMs, overlapMs = 5_000, awayMs = 30_000 } = options;
  const calls = new Set<AbortController>();
  const timers = new Set<NodeJS.Timeout>();
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const later = (ms: number, work: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timers.add(timer);
  };
  let awaySince: number | undefined;
  let failures = 0;

  const lost = (began: number, message: string): void => {
    if (calls.size > 0) return;
    const now = performance.now();
    // A call that was held this long had reached the server.
    if (now - began > overlapMs) {
      awaySince = undefined;
      failures = 0;
    }
    awaySince ??= now;
    if (now - awaySince >= awayMs) return resolve({ kind: 'unreachable', message });
    later(Math.min(MAX_PAUSE_MS, 250 * 2 ** failures), call);
    failures += 1;
  };
  const call = (): void => {
    const mine = new AbortController();
    const others = [...calls];
    calls.add(mine);
    const began = performance.now();
    if (others.length > 0) later(overlapMs, () => others.forEach((other) => other.abort()));
    if (request.mayWait === true) later(renewMs, () => void (calls.has(mine) && call()));
    ask(options, request, mine.signal).then(
      (reply) => {
        calls.delete(mine);
        if (mine.signal.aborted) return undefined;
        return reply.kind === 'unreachable' ? lost(began, reply.message) : resolve(reply);
      },
      (error: unknown) => {
        calls.delete(mine);
        if (!mine.signal.aborted) lost(began, reasonOf(error));
      },
    );
  };
  const abort = (): void => reject(signal?.reason as Error);
  signal?.addEventListener('abort', abort);
  const limitMs = options.limitMs ?? (request.mayWait === true ? WAIT_MS : POLL_MS);
  later(limitMs, () =>
    resolve({ kind: 'unreachable', message: `no answer within ${limitMs / 1_000} seconds` }),
  );
  if (signal?.aborted) abort();
  else call();
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', abort);
    for (const timer of timers) clearTimeout(timer);
    for (const each of calls) each.abort();
  }
}

async function ask(
  { baseUrl, agentToken, fetch }: ClientOptions,
  request: Request,
  signal: AbortSignal,
): Promise<Reply> {
  const url = new URL(request.path, baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
  const response = await fetch(url, {
    method: request.method,
    headers: {
      authorization: `Bearer ${agentToken}`,
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    // The token must not reach another origin.
    redirect: 'error',
    signal,
  });
  const text = await response.text();
  const data = parse(text);
  if (response.ok && data !== undefined) return { kind: 'answered', data };
  const { error, code } = (data ?? {}) as { error?: unknown; code?: unknown };
  if (typeof error === 'string' && typeof code === 'string') {
    // 503 is temporary: retried.
    if (response.status === 503) return { kind: 'unreachable', message: error };
    return { kind: 'refused', code, message: error };
  }
  // A proxy answered, not Porthole.
  return { kind: 'unreachable', message: `status ${response.status}` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** `fetch` reports "fetch failed" and puts the reason into `cause`. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as {
    readonly message?: unknown;
    readonly cause?: { readonly message?: unknown };
  };
  const [detail] = [cause?.message, message].filter((each) => typeof each === 'string' && each !== '');
  return String(detail ?? error);
}
