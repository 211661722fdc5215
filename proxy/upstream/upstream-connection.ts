import type { Duplex } from 'node:stream';
import { ResponseParser } from './response-parser.ts';

/** Whoever is using a connection at the moment. */
export interface ConnectionUser {
  received(bytes: Buffer): void;
  /** What was written has gone out; more may follow. */
  drained(): void;
  /** The peer ended its side; what it sent before has been received. */
  ended(): void;
  /** The connection is gone, in whatever way. Comes at most once, and is the last call. */
  closed(): void;
}

/**
 * A connection to a server in a sandbox, and the parser of what comes back on it. One user at a
 * time.
 */
export class UpstreamConnection {
  readonly socket: Duplex;
  readonly parser = new ResponseParser();
  /** When it was last given back, in `performance.now()` milliseconds. */
  idleSince = 0;
  #user: ConnectionUser | undefined;
  readonly #onData = (bytes: Buffer): void => {
    // A server that speaks while nobody has asked is out of step for good.
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

  /** `onIdleClose`: told when the connection closes while nobody uses it. */
  constructor(socket: Duplex, onIdleClose: (connection: UpstreamConnection) => void) {
    this.socket = socket;
    this.#onIdleClose = onIdleClose;
    if ('setNoDelay' in socket && typeof socket.setNoDelay === 'function') socket.setNoDelay(true);
    // 'close' follows every error and says all there is to know.
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

  /**
   * Lets go of the socket: whoever takes it gets every later byte, and the duty to destroy it. It
   * is paused.
   */
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
