import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RawData, type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { MessageListeners, MessageSocket } from '#core/terminals/message-socket.ts';
import type { Handshake } from './handshake.ts';

/** A longer message is refused with 1009, in bytes: a paste is not that long. */
const MAX_MESSAGE = 1024 * 1024;
/** What a message costs in memory beside its bytes; measured, and rounded up. */
const MESSAGE_COST = 512;
/**
 * Below what proxies give an idle connection: nginx and the load balancers of the large clouds 60
 * s.
 */
const PING_MS = 20_000;
/** How long the other side may take to say goodbye, and to read what is on its way. */
const CLOSE_MS = 10_000;

export interface WebSocketOptions {
  /** Aborted when this process is about to end: what is closing then is cut off soon. */
  readonly stopping: AbortSignal;
  readonly pingMs?: number | undefined;
  /** Hears how it ended, and after how many milliseconds. */
  readonly ended: (code: number, ms: number) => void;
}

/** The types of ws do not know `closeTimeout` yet. */
const serverOptions: ServerOptions & { readonly closeTimeout: number } = {
  noServer: true,
  clientTracking: false,
  maxPayload: MAX_MESSAGE,
  // A terminal's small messages would gain nothing from 300 KiB of tables for each socket.
  perMessageDeflate: false,
  closeTimeout: CLOSE_MS,
};
const server = new WebSocketServer(serverOptions);
const requestIds = new WeakMap<IncomingMessage, string>();
server.on('headers', (headers, req) => {
  headers.push(`X-Request-Id: ${requestIds.get(req) ?? ''}`);
});

/**
 * Answers 101. Undefined for a client that has gone meanwhile. The handshake must have been found
 * good.
 */
export function acceptWebSocket(
  req: IncomingMessage,
  res: ServerResponse,
  { socket, head }: Handshake,
  requestId: string,
  options: WebSocketOptions,
): MessageSocket | undefined {
  // What ws writes is not for Node's own answer to account for.
  res.detachSocket(socket as Parameters<typeof res.detachSocket>[0]);
  requestIds.set(req, requestId);
  let accepted: WebSocket | undefined;
  server.handleUpgrade(req, socket, head, (given) => {
    accepted = given;
  });
  return accepted === undefined ? undefined : new HostSocket(accepted, options);
}

/** How soon a socket is cut off that is still there when the process is about to end. */
const STOPPING_MS = 1_000;

class HostSocket implements MessageSocket {
  readonly #socket: WebSocket;
  readonly #began = performance.now();
  #listeners: MessageListeners | undefined;
  #waiting = 0;
  /** Whether anything was heard or read since the last ping. */
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
    // ws closes it by itself after an error.
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
    // Whom we do not listen to cannot answer.
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = this.#socket.isPaused;
    this.#socket.ping();
  }
}
