import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { PortholeError } from '#core/errors.ts';
import { dataMessage, ForwardReader } from './forward-messages.ts';

/**
 * Between two pings, in milliseconds: proxies on the way take a WebSocket that is silent for a
 * minute for dead.
 */
const HEARTBEAT_MS = 20_000;

/** A peer that owes an answer this long, in milliseconds, is gone. */
const SILENCE_MS = 60_000;

interface Heartbeat {
  /**
   * Something was sent that the peer may have to hold back, and every answer to a ping behind it.
   */
  sent(): void;
  stop(): void;
}

/**
 * Pings a WebSocket so that nobody on the way takes it for dead, and tells when the peer is. The
 * peer reads in order: while it holds back what we sent it, or we hold back what it sent us, it
 * owes nothing; then only the kernel's own keep-alive tells.
 */
export function startHeartbeat(
  socket: WebSocket,
  lost: () => void,
  { heartbeatMs = HEARTBEAT_MS, silenceMs = SILENCE_MS } = {},
): Heartbeat {
  let heardAt = performance.now();
  let isBehind = false;
  const heard = (): void => {
    heardAt = performance.now();
  };
  const answered = (): void => {
    heard();
    isBehind = false;
  };
  const heartbeat = setInterval(() => {
    if (socket.isPaused || isBehind) heard();
    else if (performance.now() - heardAt > silenceMs) return lost();
    if (socket.readyState === socket.OPEN) socket.ping();
  }, heartbeatMs);
  // It keeps no process alive.
  heartbeat.unref();
  socket.on('message', heard);
  socket.on('pong', answered);
  const stop = (): void => {
    clearInterval(heartbeat);
    socket.off('message', heard);
    socket.off('pong', answered);
  };
  socket.once('close', stop);
  return { sent: () => (isBehind = true), stop };
}

/** Read ahead of the reader, in bytes. */
const AHEAD = 64 * 1024;

const PIECE = 32 * 1024;

/**
 * The API server cannot pass on that a sender has ended; ending the connection instead would cut
 * off the answer. So it is ended once the sandbox has said nothing for this long, in milliseconds.
 */
const QUIET_MS = 10_000;

interface PortStreamOptions {
  readonly id: string;
  readonly port: number;
  readonly quietMs?: number;
}

/** A byte stream to a port of a pod, on the WebSocket of its port-forward. */
export class PortStream extends Duplex {
  /**
   * Resolves when the connection has carried a byte or has ended well; rejects with what prevented
   * it.
   */
  readonly settled: Promise<void>;
  readonly #options: Required<PortStreamOptions>;
  readonly #socket: WebSocket;
  readonly #reader: ForwardReader;
  readonly #heartbeat: Heartbeat;
  readonly #settle = Promise.withResolvers<void>();
  #quiet: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(socket: WebSocket, { quietMs = QUIET_MS, ...options }: PortStreamOptions) {
    super({ readableHighWaterMark: AHEAD, writableHighWaterMark: AHEAD, allowHalfOpen: false });
    this.#options = { ...options, quietMs };
    this.#socket = socket;
    this.#reader = new ForwardReader(options.port);
    this.#heartbeat = startHeartbeat(socket, () => this.#lose('nothing is heard of the connection any more'));
    this.settled = this.#settle.promise;
    this.settled.catch(() => {});
    // Without a listener an error would end the host; whoever reads or writes gets it all the same.
    this.on('error', () => {});
    socket.on('message', (message: Buffer) => {
      try {
        this.#take(message);
      } catch (error) {
        this.#lose('its port-forward breaks the protocol', error);
      }
    });
    socket.once('close', (code: number) => {
      if (code === 1000) this.#end();
      else this.#lose('the connection was lost');
    });
    socket.resume();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const next = (from: number): void => {
      if (from >= chunk.length) return done();
      this.#heartbeat.sent();
      this.#socket.send(dataMessage(chunk.subarray(from, from + PIECE)), (error) =>
        error ? done(this.#lost('the connection was lost', error)) : next(from + PIECE),
      );
    };
    next(0);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (!this.#isEnded) this.#endWhenQuiet();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#isEnded = true;
    clearTimeout(this.#quiet);
    this.#heartbeat.stop();
    this.#settle.reject(error ?? this.#lost('the connection was closed'));
    this.#socket.terminate();
    done(error);
  }

  #take(message: Buffer): void {
    const read = this.#reader.take(message);
    if (read === undefined || this.#isEnded) return;
    if (read.channel === 'error')
      return void this.destroy(this.#refused(read.payload.toString('utf8', 0, 500)));
    this.#settle.resolve();
    if (this.writableEnded) this.#endWhenQuiet();
    if (!this.push(read.payload)) this.#socket.pause();
  }

  #endWhenQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      // What is not read yet is not silence.
      if (this.#socket.isPaused) this.#endWhenQuiet();
      else this.#end();
    }, this.#options.quietMs);
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#quiet);
    this.#settle.resolve();
    this.push(null);
    this.#socket.terminate();
  }

  #refused(why: string): PortholeError {
    const { id, port } = this.#options;
    if (!/refused|failed to connect/i.test(why)) return this.#lost(`its port-forward failed: ${why}`);
    return new PortholeError(
      'nothing_listens',
      `Nothing listens on port ${port} in sandbox ${id}. Start the server, then try again.`,
    );
  }

  #lost(what: string, cause?: unknown): PortholeError {
    return transportError(this.#options.id, what, cause);
  }

  #lose(what: string, cause?: unknown): void {
    if (!this.#isEnded) this.destroy(this.#lost(what, cause));
  }
}
