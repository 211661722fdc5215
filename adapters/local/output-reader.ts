import { Socket } from 'node:net';
import type { Readable } from 'node:stream';

/** Reads a command's output out of its pipe, no faster than whoever reads `target`; once that is destroyed it reads on and discards. */
export class OutputReader {
  /** Read so far. */
  bytes = 0;
  /** Stands still until `release`. */
  held = false;
  /** Nobody can write any more, and all has been read. */
  isOver = false;
  readonly #source: Socket;

  /** @param descriptor the pipe's reading end, which is closed with the reader */
  constructor(descriptor: number, target: Readable, over: () => void) {
    this.#source = new Socket({ fd: descriptor, writable: false });
    this.#source.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (target.destroyed || target.push(chunk)) return;
      this.held = true;
      this.#source.pause();
    });
    // One that breaks has ended, too.
    this.#source.on('error', () => {});
    this.#source.on('close', () => {
      this.isOver = true;
      over();
    });
  }

  release(): void {
    this.held = false;
    this.#source.resume();
  }

  close(): void {
    this.#source.destroy();
  }
}
