import type { Duplex } from 'node:stream';
import { ResponseParser } from './response-parser.ts';

/** The current user of a connection. */
export interface ConnectionUser {
  received(bytes: Buffer): void;
  /** The written data has been sent; more may follow. */
  drained(): void;
  /** The peer ended its side; everything it sent before has been received. */
  ended(): void;
  /** The connection is closed, for any reason. Called at most once, as the last call. */
  closed(): void;
}

/** A connection to a server in a sandbox, and the parser of its responses. One user at a time. */
export class UpstreamConnection {
  readonly socket: Duplex;
  readonly parser = new ResponseParser();
  /** When it was last returned to the pool, in `performance.now()` milliseconds. */
  idleSince = 0;
  #user: ConnectionUser | undefined;
  readonly #onData = (bytes: Buffer): void => {
    // A server that sends without a request is permanently out of step.
    if (this.#user === undefined) this.destroy();
    else this.#user.received(bytes);
  };
  readonly #onEnd = (): void => {
    if (this.#user === undefined) this.destroy();
    else this.#user.ended();
  };
  readonly #onDrain = (): void => this.#user?.drained();
  readonly #onClose = (): void => {
    const user = this.#user;
    this.#user = undefined;
    if (user === undefined) this.#onIdleClose(this);
    else user.closed();
  };
  readonly #onIdleClose: (connection: UpstreamConnection) => void;

  /** `onIdleClose`: called when the connection closes while it has no user. */
  constructor(socket: Duplex, onIdleClose: (connection: UpstreamConnection) => void) {
    this.socket = socket;
    this.#onIdleClose = onIdleClose;
    if ('setNoDelay' in socket && typeof socket.setNoDelay === 'function') socket.setNoDelay(true);
    // 'close' follows every error and is sufficient.
    socket.on('error', ignore);
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('close', this.#onClose);
  }

  get usable(): boolean {
    return this.socket.writable && !this.socket.destroyed;
  }

  use(user: ConnectionUser | undefined): void {
    this.#user = user;
  }

  /** Detaches and pauses the socket: the caller gets every later byte, and must destroy it. */
  detach(): Duplex {
    const { socket } = this;
    this.#user = undefined;
    socket.pause();
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('close', this.#onClose);
    return socket;
  }

  destroy(): void {
    this.socket.destroy();
  }
}

function ignore(): void {}
