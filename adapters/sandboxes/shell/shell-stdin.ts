import { Writable } from 'node:stream';
import type { ShellChannel } from './shell-channel.ts';

/** What is written at a time, in bytes. */
export const PIECE = 32 * 1024;

/** What a terminal takes for the end of its input. */
const END_OF_TRANSMISSION = Buffer.from([4]);

/** A command's stdin. One piece at a time is on its way to the kernel, so a command that does not read stops the writer. */
export class ShellStdin extends Writable {
  readonly #channel: Pick<ShellChannel, 'write' | 'endInput'>;
  readonly #isTerminal: boolean;

  constructor(channel: Pick<ShellChannel, 'write' | 'endInput'>, isTerminal: boolean) {
    super({ decodeStrings: true });
    this.#channel = channel;
    this.#isTerminal = isTerminal;
    // A command that ends without reading everything is no error of the writer's.
    this.on('error', () => {});
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const next = (from: number): void => {
      if (from >= chunk.length) return done();
      this.#channel.write(chunk.subarray(from, from + PIECE), (error) =>
        error ? done(error) : next(from + PIECE),
      );
    };
    next(0);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#isTerminal) this.#channel.write(END_OF_TRANSMISSION, () => done());
    else this.#channel.endInput(() => done());
  }
}
