import { Duplex } from 'node:stream';
import { nothingListens, transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import type { PortholeError } from '#core/errors.ts';
import { AttachedReader } from '../exec/attached-frames.ts';
import { LONGEST_FRAME, RelayReader, relayFrame } from './relay-frames.ts';

/** Read ahead of the reader, in bytes. */
const AHEAD = 64 * 1024;

/** Of a relay's complaints, in bytes, no more is kept. */
const MOST_SAID = 2_048;

/** A raw relay cannot tell the server that its peer has ended: the connection is ended once the server has said nothing for this long, in milliseconds. */
const QUIET_MS = 10_000;

export interface RelayStreamOptions {
  readonly id: string;
  readonly port: number;
  /** How a relay ended that told nothing of its end. */
  readonly outcome: () => Promise<number | undefined>;
  /** @default 10,000 */
  readonly quietMs?: number;
}

/** A byte stream to a port of a container, on the stream of its relay's exec. Nothing is to be written before it is connected. */
export class RelayStream extends Duplex {
  /** Resolves once the relay has been started; rejects with what prevented it. */
  readonly started: Promise<void>;
  /** Resolves once the relay has reached the port; rejects with what prevented it. */
  readonly connected: Promise<void>;
  readonly #options: Required<RelayStreamOptions>;
  readonly #socket: Duplex;
  readonly #attached = new AttachedReader();
  readonly #start = Promise.withResolvers<void>();
  readonly #connect = Promise.withResolvers<void>();
  #hasStarted = false;
  /** Undefined before the relay has said how it speaks. */
  #speech: 'raw' | RelayReader | undefined;
  #said = '';
  #quiet: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(socket: Duplex, { quietMs = QUIET_MS, ...options }: RelayStreamOptions) {
    super({ readableHighWaterMark: AHEAD, writableHighWaterMark: AHEAD, allowHalfOpen: true });
    this.#options = { ...options, quietMs };
    this.#socket = socket;
    this.started = this.#start.promise;
    this.connected = this.#connect.promise;
    this.started.catch(() => {});
    this.connected.catch(() => {});
    // Without a listener an error would end the host; whoever reads or writes gets it all the same.
    this.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      try {
        for (const { stream, bytes } of this.#attached.take(piece)) this.#take(stream, bytes);
      } catch (error) {
        this.destroy(this.#lost('its relay breaks the protocol', error));
      }
    });
    const over = (): void => this.#over();
    socket.once('end', over).once('close', over);
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#speech === 'raw') return void this.#socket.write(chunk, done);
    const next = (from: number): void => {
      if (from >= chunk.length) return done();
      const piece = chunk.subarray(from, from + LONGEST_FRAME);
      this.#socket.cork();
      this.#socket.write(relayFrame(piece.length));
      this.#socket.write(piece, (error) => (error ? done(error) : next(from + piece.length)));
      this.#socket.uncork();
    };
    next(0);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#speech === 'raw') {
      this.#endWhenQuiet();
      return done();
    }
    // The server may have ended the connection already.
    this.#socket.write(relayFrame(0), () => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#isEnded = true;
    clearTimeout(this.#quiet);
    const reason = error ?? this.#lost('the connection was closed');
    this.#start.reject(reason);
    this.#connect.reject(reason);
    this.#socket.destroy();
    done(error);
  }

  #take(stream: 'stdout' | 'stderr', bytes: Buffer): void {
    if (this.#isEnded) return;
    if (stream === 'stderr') {
      if (this.#said.length < MOST_SAID) this.#said += bytes.toString('utf8', 0, MOST_SAID);
    } else if (bytes.length === 0) return;
    else if (this.#speech === undefined) this.#greeted(bytes);
    else this.#heard(bytes);
  }

  #greeted(bytes: Buffer): void {
    const greeting = bytes.toString('latin1', 0, 1);
    if (!this.#hasStarted) {
      if (greeting !== '.') throw new Error('a start that is none');
      this.#hasStarted = true;
      this.#start.resolve();
      if (bytes.length > 1) this.#greeted(bytes.subarray(1));
      return;
    }
    if (greeting === '-') return void this.destroy(this.#refused());
    if (greeting !== 'F' && greeting !== 'R') throw new Error('a greeting that is none');
    this.#speech = greeting === 'R' ? 'raw' : new RelayReader();
    this.#connect.resolve();
    this.#heard(bytes.subarray(1));
  }

  #heard(bytes: Buffer): void {
    if (this.#speech === 'raw') {
      if (this.writableEnded) this.#endWhenQuiet();
      return this.#pass(bytes);
    }
    for (const each of this.#speech?.take(bytes) ?? []) {
      if (this.#isEnded) return;
      if (each.kind === 'bytes') this.#pass(each.bytes);
      else if (each.kind === 'end') this.#end();
      else this.destroy(this.#lost('the server broke the connection'));
    }
  }

  #pass(bytes: Buffer): void {
    if (bytes.length > 0 && !this.push(bytes)) this.#socket.pause();
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#quiet);
    this.push(null);
  }

  /** The relay says nothing any more. */
  #over(): void {
    if (this.#isEnded) return;
    this.#options.outcome().then(
      (code) => this.#exited(code),
      (error: unknown) => this.#lose('the connection was lost', error),
    );
  }

  #exited(code: number | undefined): void {
    if (this.#speech === 'raw' && code === 0) this.#end();
    else this.#lose(`its relay ended with ${code ?? 'nothing told'}: ${this.#said.trim() || 'no word'}`);
  }

  #endWhenQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      // What is not read yet is not silence.
      if (this.#socket.isPaused()) this.#endWhenQuiet();
      else this.#end();
    }, this.#options.quietMs);
  }

  #refused(): PortholeError {
    return nothingListens(this.#options.id, this.#options.port);
  }

  #lost(what: string, cause?: unknown): PortholeError {
    return transportError(this.#options.id, what, cause);
  }

  #lose(what: string, cause?: unknown): void {
    if (!this.#isEnded) this.destroy(this.#lost(what, cause));
  }
}
