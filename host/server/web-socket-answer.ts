import type { IncomingMessage } from 'node:http';
import { type RawData, type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { MessageListeners, MessageSocket } from '#core/terminals/message-socket.ts';
import type { HandshakeResponse } from './handshake.ts';

/** In bytes. A longer message is refused with 1009; pastes are shorter. */
const MAX_MESSAGE = 1024 * 1024;
/** Memory cost of a message beside its bytes; measured, and rounded up. */
const MESSAGE_COST = 512;
/** Below the idle timeout of proxies: 60 s for nginx and the load balancers of the large clouds. */
const PING_MS = 20_000;
/** How long the peer may take for its close frame, and to read pending data. */
const CLOSE_MS = 10_000;

export interface WebSocketOptions {
  /** Aborted when this process is about to end: closing sockets are then cut off soon. */
  readonly stopping: AbortSignal;
  readonly pingMs?: number | undefined;
  /** Called with the close code and the duration in milliseconds. */
  readonly ended: (code: number, ms: number) => void;
}

/** The types of ws do not include `closeTimeout` yet. */
const serverOptions: ServerOptions & { readonly closeTimeout: number } = {
  noServer: true,
  clientTracking: false,
  maxPayload: MAX_MESSAGE,
  // Compression needs 300 KiB per socket, and a terminal's small messages gain nothing from it.
  perMessageDeflate: false,
  closeTimeout: CLOSE_MS,
};
const server = new WebSocketServer(serverOptions);
const requestIds = new WeakMap<IncomingMessage, string>();
server.on('headers', (headers, req) => {
  headers.push(`X-Request-Id: ${requestIds.get(req) ?? ''}`);
});

/** Answers 101. Undefined if the client is gone. Validate the handshake first. */
export function acceptWebSocket(
  res: HandshakeResponse,
  requestId: string,
  options: WebSocketOptions,
): MessageSocket | undefined {
  // Node's response must not account for the bytes that ws writes.
  res.detachSocket(res.peer as Parameters<typeof res.detachSocket>[0]);
  requestIds.set(res.req, requestId);
  let accepted: WebSocket | undefined;
  server.handleUpgrade(res.req, res.peer, res.head, (given) => {
    accepted = given;
  });
  return accepted === undefined ? undefined : new HostSocket(accepted, options);
}

/** How soon a socket is cut off that is still open when the process is about to end. */
const STOPPING_MS = 1_000;

class HostSocket implements MessageSocket {
  readonly #socket: WebSocket;
  readonly #began = performance.now();
  #listeners: MessageListeners | undefined;
  #waiting = 0;
  /** Whether anything was received or read since the last ping. */
  #isAlive = true;
  #isClosed = false;

  constructor(socket: WebSocket, options: WebSocketOptions) {
    this.#socket = socket;
    socket.pause();
    const heard = (): void => {
      this.#isAlive = true;
    };
    socket.on('pong', heard);
    socket.on('ping', heard);
    socket.on('message', (data: RawData, isBinary) => {
      heard();
      const bytes = data as Buffer;
      this.#listeners?.message(isBinary ? bytes : bytes.toString());
    });
    // ws closes the socket itself after an error.
    socket.on('error', () => undefined);
    const pings = setInterval(() => this.#ping(), options.pingMs ?? PING_MS).unref();
    const cutOff = (): void => {
      setTimeout(() => socket.terminate(), STOPPING_MS).unref();
    };
    options.stopping.addEventListener('abort', cutOff);
    if (options.stopping.aborted) cutOff();
    socket.once('close', (code: number) => {
      clearInterval(pings);
      options.stopping.removeEventListener('abort', cutOff);
      this.#isClosed = true;
      options.ended(code, performance.now() - this.#began);
      this.#listeners?.closed();
    });
  }

  listen(listeners: MessageListeners): void {
    this.#listeners = listeners;
    if (this.#isClosed) listeners.closed();
    else this.#socket.resume();
  }

  send(message: Uint8Array | string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const cost = MESSAGE_COST + (typeof message === 'string' ? Buffer.byteLength(message) : message.length);
    this.#waiting += cost;
    this.#socket.send(message, (error) => {
      this.#waiting -= cost;
      if (error) return;
      this.#isAlive = true;
      this.#listeners?.sent();
    });
  }

  get waiting(): number {
    return this.#waiting;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  #ping(): void {
    // A paused socket reads no pong, so it counts as alive.
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = this.#socket.isPaused;
    this.#socket.ping();
  }
}
