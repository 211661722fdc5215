import type { Agent, AgentOptions, IncomingHttpHeaders, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { ClusterAccess } from './cluster-access.ts';
import { ExchangeFailure, isTransient, type KubernetesError } from './kubernetes-error.ts';

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

interface Exchanges {
  /** @throws ExchangeFailure, also when the signal aborts */
  exchange(request: ExchangeRequest, signal?: AbortSignal): Promise<ExchangeAnswer>;
  close(): void;
}

/**
 * Below the API server's idle timeout of 90 s, so that the client closes first. In milliseconds.
 */
const IDLE_MS = 55_000;

/** Requests to one server over keep-alive connections, with Node's client. */
export function openExchanges(access: ClusterAccess, connections: number): Exchanges {
  const { protocol, hostname, port } = new URL(access.server);
  const isTls = protocol === 'https:';
  const pool = { keepAlive: true, maxSockets: connections, timeout: IDLE_MS };
  let client: ClusterHttp | undefined;
  const open = () => (client ??= openClusterHttp(access, pool));
  const target = {
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port !== '' && { port: Number(port) }),
  };
  // Node reports connection reuse only for requests that did not wait for a connection.
  const connected = new WeakSet<Socket>();

  return {
    exchange: ({ method, path, headers, body, timeoutMs }, signal) =>
      new Promise((resolve, reject) => {
        let maybeSent = false;
        const fail = (cause: Error) => {
          clearTimeout(late);
          reject(new ExchangeFailure(cause.message, maybeSent, cause));
        };
        const { request, agent } = open();
        const outgoing = request({
          ...target,
          agent,
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
    close: () => client?.agent.destroy(),
  };
}

export interface ClusterHttp {
  readonly request: typeof httpRequest;
  readonly agent: Agent;
}

/**
 * Node's client for the API server. Not imported, and opened with the first request: an import
 * loads it at every start, and with `node:http` its whole WebSocket client.
 */
export function openClusterHttp(
  { server, ca, cert, key, serverName }: ClusterAccess,
  options: AgentOptions = {},
): ClusterHttp {
  if (!server.startsWith('https:')) {
    const { Agent, request } = process.getBuiltinModule('node:http');
    return { request, agent: new Agent(options) };
  }
  const { Agent, request } = process.getBuiltinModule('node:https');
  const agent = new Agent({
    ...options,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  });
  return { request, agent };
}

/** Tries per call, including the first. */
export const MAX_TRIES = 5;

const FIRST_MS = 50;

/** When a call may be repeated. */
export interface Repetition {
  /** Also when the failed call may have taken effect: for idempotent calls. */
  readonly inDoubt: boolean;
  /**
   * Also after a 409 `Conflict`: where it means concurrent writers of one object or quota, not a
   * failed precondition.
   */
  readonly conflict: boolean;
}

/**
 * Delay before the next try, in milliseconds; undefined when the call must not be retried. `tries`
 * is the number of failed tries; `random` is from 0 to 1. Honors the server's Retry-After in full.
 * Otherwise exponential backoff with jitter, so that calls that failed together are not retried
 * together.
 */
export function retryDelay(
  error: KubernetesError,
  tries: number,
  repetition: Repetition,
  random = Math.random(),
): number | undefined {
  if (tries >= MAX_TRIES || (error.inDoubt && !repetition.inDoubt)) return undefined;
  const isConflict = error.status === 409 && error.reason === 'Conflict';
  if (!isTransient(error) && !(repetition.conflict && isConflict)) return undefined;
  const grown = FIRST_MS * 2 ** (tries - 1) * (0.5 + random / 2);
  return Math.max(error.retryAfterMs ?? 0, grown);
}

/**
 * The API server's clock. All stored times use it, so that functions and reapers with clocks that
 * differ by minutes still agree on when a preview ends.
 */
export interface ServerTime {
  /**
   * Updates the estimate from the `Date` of a response. `sentAt` and `receivedAt` are local times,
   * in milliseconds.
   */
  observe(date: string | undefined, sentAt: number, receivedAt: number): void;
  /** Milliseconds that the server's clock is ahead of the local one; exactly 0 while they agree. */
  ahead(): number;
}

/**
 * Clocks that differ by less count as equal: a `Date` has whole seconds and arrives with a delay.
 * Wide enough to keep the estimate constant: compared times must be shifted by the same amount.
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
 * Abort reason for finished tasks. Created once: it is never read, and each Error captures a stack.
 */
const OVER = new Error('it is over');

/**
 * Runs a task with a timeout in milliseconds and a signal. The task's signal aborts with the
 * signal's reason or a `TimeoutError`, and also when the task is done, so that work it left running
 * stops. Unlike `AbortSignal.timeout`, leaves no timer behind.
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

/** Semaphore: at most `places` tasks run at once, in FIFO order. */
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
