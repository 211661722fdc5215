import type { Readable } from 'node:stream';

export type OutputKind = 'stdout' | 'stderr';

/** More than the two pipes of a command can hold: Linux lets it make each as large as 1 MiB. */
const MOST_LEFT = 2 * 1024 * 1024;

/**
 * Hands a command's output on, no faster than it is taken. Once discarded it reads on and throws away, so that what a
 * command left in the background is not stopped by a full pipe.
 */
export class CommandOutput {
  #bytes = 0;
  /** Also until it begins. */
  #held = true;
  #take: ((kind: OutputKind, chunk: Buffer) => boolean) | undefined;
  #released: (() => void) | undefined;
  #ended: (() => void) | undefined;
  readonly #open = new Set<Readable>();

  constructor(sources: readonly (readonly [OutputKind, Readable])[]) {
    for (const [kind, source] of sources) {
      this.#open.add(source);
      source.pause();
      source.on('data', (chunk: Buffer) => this.#came(kind, chunk));
      // A pipe or terminal that breaks has ended; the command's exit says the rest.
      source.on('error', () => {});
      source.on('close', () => {
        this.#open.delete(source);
        if (this.#open.size === 0) this.#ended?.();
      });
    }
  }

  /** @param take returns false to hold output back until `release` */
  begin(take: (kind: OutputKind, chunk: Buffer) => boolean): void {
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
   * Calls `done` once all that the command wrote before its exit has been taken. Mostly both streams end with it. What it
   * left in the background may hold them open: then output is complete after three silent turns of the event loop, as
   * what was written before the exit lies in the pipes already and each turn reads a piece of it. So it is after more
   * than pipes hold. Turns in which output is held back do not count.
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

  #came(kind: OutputKind, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#take === undefined || this.#take(kind, chunk)) return;
    this.#held = true;
    for (const source of this.#open) source.pause();
  }
}
