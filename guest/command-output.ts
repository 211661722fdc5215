import { Socket } from 'node:net';
import type { Readable } from 'node:stream';

export type OutputKind = 'stdout' | 'stderr';

/**
 * Takes a piece of output; its buffer is reused after the return. Returns false to pause output
 * until `release`.
 */
export type TakeOutput = (kind: OutputKind, chunk: Buffer) => boolean;

/** More than the two pipes of a command can hold: Linux allows up to 1 MiB each. */
const MAX_LEFT_BYTES = 2 * 1024 * 1024;

/**
 * Read buffer of all pipes. Commands share it, because each piece is passed on before the next
 * read: fresh memory for each piece keeps the garbage collector busy. With a message head a piece
 * is 64 KiB, so that a reader that takes 64 KiB at a time finds whole messages.
 */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024 - 5);

/**
 * Passes a command's output on with back-pressure. Once discarded it reads and drops the output, so
 * that a full pipe does not stop background processes of the command.
 */
export class CommandOutput {
  #bytes = 0;
  /** Also set until `begin`. */
  #held = true;
  #take: TakeOutput | undefined;
  #released: (() => void) | undefined;
  #ended: (() => void) | undefined;
  readonly #open = new Set<Readable>();

  /** @param sources streams, or descriptors of pipes, which are closed at their end */
  constructor(sources: readonly (readonly [OutputKind, Readable | number])[]) {
    for (const [kind, from] of sources) {
      const source = typeof from === 'number' ? this.#pipe(kind, from) : from;
      this.#open.add(source);
      source.pause();
      if (source === from) source.on('data', (chunk: Buffer) => this.#came(kind, chunk));
      // A broken pipe or terminal counts as ended; the command's exit reports the rest.
      source.on('error', () => {});
      const over = (): void => {
        if (this.#open.delete(source) && this.#open.size === 0) this.#ended?.();
      };
      source.on('end', over).on('close', over);
    }
  }

  begin(take: TakeOutput): void {
    this.#take = take;
    this.release();
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    for (const source of this.#open) source.resume();
    const released = this.#released;
    this.#released = undefined;
    if (released !== undefined) setImmediate(released);
  }

  discard(): void {
    this.#take = () => true;
    this.release();
  }

  /**
   * Calls `done` once all output before the command's exit has been taken. Usually both streams end
   * with the command. Background processes may keep them open: then output is complete after three
   * event loop turns without data, because output from before the exit is in the pipes already and
   * each turn reads a piece of it. It is also complete after more than the pipes hold. Turns in
   * which output is paused do not count.
   */
  drain(done: () => void): void {
    let isDone = false;
    const once = (): void => {
      if (isDone) return;
      isDone = true;
      this.#ended = undefined;
      done();
    };
    if (this.#open.size === 0) return once();
    this.#ended = once;
    const atExit = this.#bytes;
    let seen = atExit;
    let quiet = 0;
    const turn = (): void => {
      if (isDone) return;
      if (this.#bytes - atExit > MAX_LEFT_BYTES) return once();
      if (this.#held) {
        quiet = 0;
        this.#released = turn;
        return;
      }
      quiet = this.#bytes === seen ? quiet + 1 : 0;
      seen = this.#bytes;
      if (quiet === 3) once();
      else setImmediate(turn);
    };
    setImmediate(turn);
  }

  #pipe(kind: OutputKind, fd: number): Socket {
    const callback = (bytes: number, buffer: Uint8Array): boolean => {
      this.#came(kind, (buffer as Buffer).subarray(0, bytes));
      return !this.#held;
    };
    return new Socket({ fd, writable: false, onread: { buffer: LANDING, callback } });
  }

  #came(kind: OutputKind, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#take === undefined || this.#take(kind, chunk)) return;
    this.#held = true;
    for (const source of this.#open) source.pause();
  }
}
