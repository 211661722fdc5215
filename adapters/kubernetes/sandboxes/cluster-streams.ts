import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { ClusterAccess } from '../client/cluster-access.ts';
import { type ClusterHttp, openClusterHttp } from '../client/exchange.ts';
import { errorFromAnswer, errorFromFailure, KubernetesError } from '../client/kubernetes-error.ts';

export interface StreamRequest {
  /** Path and query on the API server. */
  readonly path: string;
  /** For messages: the verb and the object. Never contains a credential. */
  readonly what: string;
}

/**
 * Streams of the API server: WebSockets and watches, each on a separate connection. Failures are
 * KubernetesErrors; an aborted signal rejects with its own reason.
 */
export interface ClusterStreams {
  /**
   * Opens a WebSocket with this subprotocol. It is paused: resume it once a listener is attached.
   */
  socket(request: StreamRequest, subprotocol: string, signal?: AbortSignal): Promise<WebSocket>;
  /** Streams the body of a response; the signal ends it. */
  body(request: StreamRequest, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

/** Longest wait for a stream to open, in milliseconds. */
const OPEN_WITHIN_MS = 30_000;

/** Largest accepted message; the API server sends 32 KiB at most. */
const MAX_MESSAGE = 1024 * 1024;

/** Longest refusal that is read, in characters. */
const MAX_REFUSAL = 64 * 1024;

/** TCP keep-alive: the kernel probes a peer that is silent this long, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

export function openClusterStreams(access: ClusterAccess, openWithinMs = OPEN_WITHIN_MS): ClusterStreams {
  const server = new URL(access.server);
  const isTls = server.protocol === 'https:';
  // Connections are not reused, but TLS sessions are.
  let client: ClusterHttp | undefined;
  const http = () => (client ??= openClusterHttp(access));
  const open = new Set<() => void>();
  const hold = (stream: WebSocket | IncomingMessage, end: () => void): void => {
    open.add(end);
    stream.once('close', () => open.delete(end));
  };

  /** Retries once with a new token after a 401. */
  const withToken = async <T>(attempt: (headers: Record<string, string>) => Promise<T>): Promise<T> => {
    for (const refresh of [false, true]) {
      const headers: Record<string, string> = {};
      if (access.token !== undefined) headers['authorization'] = `Bearer ${await access.token(refresh)}`;
      try {
        return await attempt(headers);
      } catch (error) {
        const mayPass =
          error instanceof KubernetesError && error.status === 401 && access.token !== undefined;
        if (refresh || !mayPass) throw error;
      }
    }
    throw new Error('unreachable');
  };

  return {
    socket: async ({ path, what }, subprotocol, signal) => {
      signal?.throwIfAborted();
      const { WebSocket } = await import('ws');
      const address = `${isTls ? 'wss' : 'ws'}://${server.host}${path}`;
      return withToken(
        (headers) =>
          new Promise<WebSocket>((resolve, reject) => {
            signal?.throwIfAborted();
            const socket = new WebSocket(address, subprotocol, {
              agent: http().agent,
              headers,
              handshakeTimeout: openWithinMs,
              maxPayload: MAX_MESSAGE,
              perMessageDeflate: false,
              skipUTF8Validation: true,
              followRedirects: false,
            });
            const abort = (): void => {
              reject(signal?.reason as Error);
              socket.terminate();
            };
            signal?.addEventListener('abort', abort, { once: true });
            const settled = (): void => signal?.removeEventListener('abort', abort);
            // Never removed: without a listener, an error would end the process.
            socket.on('error', (error) => {
              settled();
              reject(errorFromFailure(what, error));
            });
            socket.once('upgrade', ({ socket: connection }) => connection.setKeepAlive(true, KEEP_ALIVE_MS));
            socket.once('unexpected-response', (request, response) => {
              settled();
              void refusal(what, response).then(reject);
              response.once('close', () => request.destroy());
            });
            socket.once('open', () => {
              settled();
              socket.pause();
              hold(socket, () => socket.terminate());
              resolve(socket);
            });
          }),
      );
    },

    body: ({ path, what }, signal) =>
      withToken(
        (headers) =>
          new Promise<IncomingMessage>((resolve, reject) => {
            signal.throwIfAborted();
            const { agent, request: send } = http();
            const request = send(
              {
                host: server.hostname.replace(/^\[|\]$/g, ''),
                port: server.port,
                path,
                agent,
                signal,
                headers,
              },
              (response) => {
                request.setTimeout(0);
                if ((response.statusCode ?? 0) >= 400) void refusal(what, response).then(reject);
                else {
                  hold(response, () => response.destroy());
                  resolve(response);
                }
              },
            );
            request.setTimeout(openWithinMs, () => request.destroy(new Error('it does not answer')));
            request.on('error', (error) =>
              reject(signal.aborted ? (signal.reason as Error) : errorFromFailure(what, error)),
            );
            request.on('socket', (connection) => connection.setKeepAlive(true, KEEP_ALIVE_MS));
            request.end();
          }),
      ),

    close: () => {
      for (const end of open) end();
      client?.agent.destroy();
    },
  };
}

/** What the API server says. */
async function refusal(what: string, response: IncomingMessage): Promise<Error> {
  const { statusCode = 0, headers } = response;
  let text = '';
  try {
    response.setEncoding('utf8');
    for await (const piece of response) {
      text += String(piece);
      if (text.length > MAX_REFUSAL) break;
    }
  } catch (error) {
    return errorFromFailure(what, error);
  }
  return errorFromAnswer(what, statusCode, headers['retry-after'], text.slice(0, MAX_REFUSAL));
}
