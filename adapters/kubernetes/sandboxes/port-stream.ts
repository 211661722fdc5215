import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { nothingListens, transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import type { PortholeError } from '#base/errors.ts';

/**
 * Messages for one forwarded port: a channel byte, then the payload. Channel 0 carries data,
 * channel 1 errors; each begins with the port in two bytes.
 */
export const FORWARD_SUBPROTOCOL = 'v4.channel.k8s.io';

const DATA = 0;
const ERROR = 1;
const PORT_BYTES = 2;

/** Reads the messages of one connection, in their order. */
export class ForwardReader {
  readonly #port: number;
  readonly #heads: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)];

  constructor(port: number) {
    this.#port = port;
  }

  /**
   * The payload of a message; undefined where it is empty.
   * @throws Error for a malformed message
   */
  take(message: Buffer): { readonly channel: 'data' | 'error'; readonly payload: Buffer } | undefined {
    const [channel] = message;
    if (channel === undefined) return undefined;
    if (channel !== DATA && channel !== ERROR) throw new Error(`a message on channel ${channel}`);
    const head = this.#heads[channel];
    const missing = PORT_BYTES - head.length;
    const payload = message.subarray(1 + missing);
    if (missing > 0) {
      const whole = Buffer.concat([head, message.subarray(1, 1 + missing)]);
      this.#heads[channel] = whole;
      if (whole.length === PORT_BYTES && whole.readUInt16LE() !== this.#port) {
        throw new Error(`port ${whole.readUInt16LE()} instead of ${this.#port}`);
      }
    }
    if (payload.length === 0) return undefined;
    return { channel: channel === DATA ? 'data' : 'error', payload };
  }
}

export function dataMessage(bytes: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(bytes.length + 1);
  message[0] = DATA;
  message.set(bytes, 1);
  return message;
}

/** Ping interval, in milliseconds: proxies drop a WebSocket that is silent for a minute. */
const HEARTBEAT_MS = 20_000;

/** A peer that does not answer for this long, in milliseconds, counts as lost. */
const SILENCE_MS = 60_000;

interface Heartbeat {
  /** Data was sent. The peer may block on it and delay all later pongs. */
  sent(): void;
  stop(): void;
}

/**
 * Pings a WebSocket so that proxies keep it open, and detects a lost peer. The peer reads in order:
 * under backpressure in either direction, pongs may be delayed, and only TCP keep-alive detects a
 * loss.
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
  // Must not keep the process alive.
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

const AHEAD = 64 * 1024;

const PIECE = 32 * 1024;

/**
 * The API server cannot forward a half-close, and closing the connection would cut off the
 * response. So it is closed once the sandbox has sent nothing for this long, in milliseconds.
 */
const QUIET_MS = 10_000;

/** A byte stream to a port of a pod, on the WebSocket of its port-forward. */
export class PortStream extends Duplex {
  readonly #id: string;
  readonly #port: number;
  readonly #quietMs: number;
  readonly #socket: WebSocket;
  readonly #reader: ForwardReader;
  readonly #heartbeat: Heartbeat;
  #quiet: NodeJS.Timeout | undefined;
  #isEnded = false;

  /** @param id the sandbox's; @param port of its pod */
  constructor(socket: WebSocket, id: string, port: number, quietMs = QUIET_MS) {
    super({ readableHighWaterMark: AHEAD, writableHighWaterMark: AHEAD, allowHalfOpen: false });
    this.#id = id;
    this.#port = port;
    this.#quietMs = quietMs;
    this.#socket = socket;
    this.#reader = new ForwardReader(port);
    this.#heartbeat = startHeartbeat(socket, () => this.#lose('the connection is silent'));
    // Without a listener an error would end the host; readers and writers still get it.
    this.on('error', () => {});
    socket.on('message', (message: Buffer) => {
      try {
        this.#take(message);
      } catch (error) {
        this.#lose('its port-forward violates the protocol', error);
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
    this.#socket.terminate();
    done(error);
  }

  #take(message: Buffer): void {
    const read = this.#reader.take(message);
    if (read === undefined || this.#isEnded) return;
    if (read.channel === 'error')
      return void this.destroy(this.#refused(read.payload.toString('utf8', 0, 500)));
    if (this.writableEnded) this.#endWhenQuiet();
    if (!this.push(read.payload)) this.#socket.pause();
  }

  #endWhenQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      // Unread data does not count as silence.
      if (this.#socket.isPaused) this.#endWhenQuiet();
      else this.#end();
    }, this.#quietMs);
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#quiet);
    this.push(null);
    this.#socket.terminate();
  }

  #refused(why: string): PortholeError {
    if (!/refused|failed to connect/i.test(why)) return this.#lost(`its port-forward failed: ${why}`);
    return nothingListens(this.#id, this.#port);
  }

  #lost(what: string, cause?: unknown): PortholeError {
    return transportError(this.#id, what, cause);
  }

  #lose(what: string, cause?: unknown): void {
    if (!this.#isEnded) this.destroy(this.#lost(what, cause));
  }
}
