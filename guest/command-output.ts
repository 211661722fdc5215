import { Socket } from 'node:net';
import type { Readable } from 'node:stream';

export type OutputKind = 'stdout' | 'stderr';

/**
 * Takes a piece of output, whose memory is used again once it returns. Returns false to hold output
 * back until `release`.
 */
export type TakeOutput = (kind: OutputKind, chunk: Buffer) => boolean;

/** More than the two pipes of a command can hold: Linux lets it make each as large as 1 MiB. */
const MOST_LEFT = 2 * 1024 * 1024;

/**
 * What pipes are read into. All commands share it, as each piece is handed on before the next one
 * is read: fresh memory for each piece keeps the garbage collector busier than all else. With a
 * message's head a piece makes 64 KiB, so that the reader at the other end, which takes 64 KiB at a
 * time, finds whole messages.
 */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024 - 5);

/**
 * Hands a command's output on, no faster than it is taken. Once discarded it reads on and throws
 * away, so that what a command left in the background is not stopped by a full pipe.
 */
export class CommandOutput {
  #bytes = 0;
  /** Also until it begins. */
  #held = true;
  #take: TakeOutput | undefined;
  #released: (() => void) | undefined;
  #ended: (() => void) | undefined;
  readonly #open = new Set<Readable>();

  /**
   * @param sources streams, or descriptors of pipes that do not block, which are closed at their
   * end
   */
  constructor(sources: readonly (readonly [OutputKind, Readable | number])[]) {
    for (const [kind, from] of sources) {
      const source = typeof from === 'number' ? this.#pipe(kind, from) : from;
      this.#open.add(source);
      source.pause();
      if (source === from) source.on('data', (chunk: Buffer) => this.#came(kind, chunk));
      // A pipe or terminal that breaks has ended; the command's exit says the rest.
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
   * Calls `done` once all that the command wrote before its exit has been taken. Mostly both
   * streams end with it. What it left in the background may hold them open: then output is complete
   * after three silent turns of the event loop, as what was written before the exit lies in the
   * pipes already and each turn reads a piece of it. So it is after more than pipes hold. Turns in
   * which output is held back do not count.
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
      if (this.#bytes - atExit > MOST_LEFT) return once();
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
