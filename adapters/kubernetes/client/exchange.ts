import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ClusterAccess } from './cluster-access.ts';

export interface ExchangeRequest {
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

export interface Exchanges {
  /** @throws ExchangeFailure, also when the signal aborts */
  exchange(request: ExchangeRequest, signal?: AbortSignal): Promise<ExchangeAnswer>;
  close(): void;
}

/** Below the API server's own idle limit of 90 s, so that it is us who close. */
const IDLE_MS = 55_000;

/**
 * Requests to one server over connections that are kept. Node's own client: undici is no faster here (0.06 ms a round trip, both) and costs 50 ms and more of
 * every start.
 */
export function openExchanges(access: ClusterAccess, connections: number): Exchanges {
  const { protocol, hostname, port } = new URL(access.server);
  const isTls = protocol === 'https:';
  // Not imported: that would load them before a request needs them, and with the names of `node:http` its whole WebSocket client, 30 ms of every start.
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
  // Node tells of a request that takes over a connection only where it did not have to wait for one.
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
