import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { ClusterAccess } from '../client/cluster-access.ts';
import { errorFromAnswer, errorFromFailure, KubernetesError } from '../client/kubernetes-error.ts';

export interface StreamRequest {
  /** Path and query on the API server. */
  readonly path: string;
  /** For messages: what is done to what. Never holds a credential. */
  readonly what: string;
}

/**
 * What the API server offers as a stream: WebSockets and watches, each on a connection of its own.
 * Failures are KubernetesErrors; an aborted signal rejects with its own reason.
 */
export interface ClusterStreams {
  /** An open WebSocket of this subprotocol. It is paused: resume it once somebody listens. */
  socket(request: StreamRequest, subprotocol: string, signal?: AbortSignal): Promise<WebSocket>;
  /** The body of an answer, as it comes; the signal ends it. */
  body(request: StreamRequest, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

/** Longest wait for a stream to open, in milliseconds. */
const OPEN_WITHIN_MS = 30_000;

/** Largest message taken; the API server sends 32 KiB at most. */
const MAX_MESSAGE = 1024 * 1024;

/** Longest refusal that is read. */
const MAX_REFUSAL = 64 * 1024;

/** The kernel asks a peer that is silent this long, in milliseconds, whether it is there. */
const KEEP_ALIVE_MS = 15_000;

export function openClusterStreams(access: ClusterAccess, openWithinMs = OPEN_WITHIN_MS): ClusterStreams {
  const server = new URL(access.server);
  const isTls = server.protocol === 'https:';
  // Not imported: with the names of `node:http` comes its whole WebSocket client, 40 ms of every
  // start.
  const http = process.getBuiltinModule('node:http');
  const https = process.getBuiltinModule('node:https');
  const { ca, cert, key, serverName } = access;
  // No connection is used twice, but TLS sessions are.
  const agent = isTls
    ? new https.Agent({
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
        ...(serverName !== undefined && { servername: serverName }),
      })
    : new http.Agent();
  const open = new Set<{ destroy(): void }>();
  const held = <T extends { destroy(): void; once(event: 'close', listener: () => void): unknown }>(
    stream: T,
  ): T => {
    open.add(stream);
    stream.once('close', () => open.delete(stream));
    return stream;
  };

  /** Tries again once, with a new token, where the first is refused. */
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
              agent,
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
            // Stays for good: without a listener, an error would end the process.
            socket.on('error', (error) => {
              settled();
              reject(errorFromFailure(what, error));
            });
            socket.once('upgrade', ({ socket: connection }) => connection.setKeepAlive(true, KEEP_ALIVE_MS));
            socket.once('unexpected-response', (request, response) => {
              settled();
              const { statusCode = 0, headers: received } = response;
              readText(response).then(
                (text) => reject(errorFromAnswer(what, statusCode, received['retry-after'], text)),
                (error: unknown) => reject(errorFromFailure(what, error)),
              );
              response.once('close', () => request.destroy());
            });
            socket.once('open', () => {
              settled();
              socket.pause();
              const entry = { destroy: () => socket.terminate() };
              open.add(entry);
              socket.once('close', () => open.delete(entry));
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
            const send = isTls ? https.request : http.request;
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
                const { statusCode = 0, headers: received } = response;
                if (statusCode < 400) return resolve(held(response));
                readText(response).then(
                  (text) => reject(errorFromAnswer(what, statusCode, received['retry-after'], text)),
                  (error: unknown) => reject(errorFromFailure(what, error)),
                );
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
      for (const stream of open) stream.destroy();
      agent.destroy();
    },
  };
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    text += String(piece);
    if (text.length > MAX_REFUSAL) break;
  }
  return text.slice(0, MAX_REFUSAL);
}
