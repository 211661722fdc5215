import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ClusterAccess } from './cluster-access.ts';
import type { KubernetesError } from './kubernetes-error.ts';

interface ExchangeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Longest wait for the whole answer, in milliseconds. @default - none */
  readonly timeoutMs?: number | undefined;
}

export interface ExchangeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An exchange that did not end with an answer. */
export class ExchangeFailure extends Error {
  /** Whether the server may have read the request. */
  readonly maybeSent: boolean;

  constructor(message: string, maybeSent: boolean, cause: unknown) {
    super(message, { cause });
    this.name = 'ExchangeFailure';
    this.maybeSent = maybeSent;
  }
}

interface Exchanges {
  /** @throws ExchangeFailure, also when the signal aborts */
  exchange(request: ExchangeRequest, signal?: AbortSignal): Promise<ExchangeAnswer>;
  close(): void;
}

/** Below the API server's own idle limit of 90 s, so that it is us who close. */
const IDLE_MS = 55_000;

/**
 * Requests to one server over connections that are kept. Node's own client: undici is no faster
 * here (0.06 ms a round trip, both) and costs 50 ms and more of every start.
 */
export function openExchanges(access: ClusterAccess, connections: number): Exchanges {
  const { protocol, hostname, port } = new URL(access.server);
  const isTls = protocol === 'https:';
  // Not imported: that would load them before a request needs them, and with the names of
  // `node:http` its whole WebSocket client, 30 ms of every start.
  const http = process.getBuiltinModule('node:http');
  const https = process.getBuiltinModule('node:https');
  const pool = { keepAlive: true, maxSockets: connections, timeout: IDLE_MS };
  const { ca, cert, key, serverName } = access;
  const agent = isTls
    ? new https.Agent({
        ...pool,
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
        ...(serverName !== undefined && { servername: serverName }),
      })
    : new http.Agent(pool);
  const { request } = isTls ? https : http;
  const target = {
    host: hostname.replace(/^\[|\]$/g, ''),
    agent,
    ...(port !== '' && { port: Number(port) }),
  };
  // Node tells of a request that takes over a connection only where it did not have to wait for
  // one.
  const connected = new WeakSet<Socket>();

  return {
    exchange: ({ method, path, headers, body, timeoutMs }, signal) =>
      new Promise((resolve, reject) => {
        let maybeSent = false;
        const fail = (cause: Error) => {
          clearTimeout(late);
          reject(new ExchangeFailure(cause.message, maybeSent, cause));
        };
        const outgoing = request({
          ...target,
          method,
          path,
          ...(signal !== undefined && { signal }),
          headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
        });
        const giveUp = (): void => {
          outgoing.destroy(new Error(`it does not answer within ${timeoutMs} ms`));
        };
        const late = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
        outgoing.once('socket', (socket) => {
          maybeSent = connected.has(socket);
          if (maybeSent) return;
          socket.once(isTls ? 'secureConnect' : 'connect', () => {
            connected.add(socket);
            maybeSent = true;
          });
        });
        outgoing.once('error', fail);
        outgoing.once('response', (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.once('error', fail);
          incoming.once('end', () => {
            clearTimeout(late);
            resolve({
              status: incoming.statusCode ?? 0,
              headers: incoming.headers,
              body: Buffer.concat(chunks).toString('utf8'),
            });
          });
        });
        outgoing.end(body);
      }),
    close: () => agent.destroy(),
  };
}

/** A call is tried this often in all. */
export const MAX_TRIES = 5;

const FIRST_MS = 50;

/** When a call may be repeated. */
export interface Repetition {
  /** Also when the failed one may have taken effect: where a repetition changes nothing. */
  readonly inDoubt: boolean;
  /**
   * Also after a 409 `Conflict`: where that means two writers of one object, or of one quota, and
   * not a precondition that fails for good.
   */
  readonly conflict: boolean;
}

/**
 * How long to wait before the next try, in milliseconds; undefined when there shall be none.
 * `tries` have failed so far; `random` is from 0 to 1. What the server asks for is waited for in
 * full; otherwise the wait doubles, by half at random, so that many who failed together do not come
 * back together.
 */
export function retryDelay(
  error: KubernetesError,
  tries: number,
  repetition: Repetition,
  random: number,
): number | undefined {
  if (tries >= MAX_TRIES || (error.inDoubt && !repetition.inDoubt)) return undefined;
  const { status, reason } = error;
  const mayPass = status === 0 || status === 429 || status >= 500;
  if (!mayPass && !(repetition.conflict && status === 409 && reason === 'Conflict')) return undefined;
  const grown = FIRST_MS * 2 ** (tries - 1) * (0.5 + random / 2);
  return Math.max(error.retryAfterMs ?? 0, grown);
}

/**
 * The API server's clock, by which every time that is stored is written and read: so that functions
 * and reapers whose clocks differ by minutes still agree on when a preview ends.
 */
export interface ServerTime {
  /**
   * Learns from the `Date` of an answer to a request that was sent and answered at these times of
   * our own clock, in milliseconds.
   */
  observe(date: string | undefined, sentAt: number, receivedAt: number): void;
  /** Milliseconds that the server's clock is ahead of ours; exactly 0 while they agree. */
  ahead(): number;
}

/**
 * A `Date` has whole seconds and takes its time to arrive, so clocks that differ by less than this
 * agree. Wide enough that the estimate stays put: times that are compared with each other must have
 * been moved by the same amount.
 */
const TOLERANCE_MS = 2_000;

export function createServerTime(): ServerTime {
  let ahead = 0;
  return {
    observe(date, sentAt, receivedAt) {
      const second = date === undefined ? Number.NaN : Date.parse(date);
      if (Number.isNaN(second)) return;
      const least = second - receivedAt;
      const most = second + 999 - sentAt;
      if (ahead >= least - TOLERANCE_MS && ahead <= most + TOLERANCE_MS) return;
      ahead = Math.round((least + most) / 2_000) * 1_000;
    },
    ahead: () => ahead,
  };
}

/**
 * Why the signal of something that is over is aborted. Made once: nobody reads it, and each error
 * costs a look at the stack.
 */
const OVER = new Error('it is over');

/**
 * Does a task that must end within so many milliseconds, or when the signal aborts. Its own signal
 * aborts then, with the signal's reason or a `TimeoutError`; and once the task is over, so that
 * nothing which it has left running goes on. Leaves no timer behind, as `AbortSignal.timeout` does.
 */
export async function within<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  task: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const limit = new AbortController();
  const abort = (): void => limit.abort(signal?.reason);
  const late = (): void => limit.abort(new DOMException(`not within ${milliseconds} ms`, 'TimeoutError'));
  const timer = setTimeout(late, milliseconds);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await task(limit.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    limit.abort(OVER);
  }
}

/** Lets at most `places` of the given tasks run at once, in the order they came. */
export function gate(places: number): <T>(task: () => Promise<T>) => Promise<T> {
  let free = places;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
