import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { type Settling, whenSilent } from './init/settle.ts';
import type { OutputPipe } from './output-pipes.ts';
import { OutputReader } from './output-reader.ts';

/** The pipes of one command, from before it is started until all of its output has been handed over. */
export class CommandOutputs implements Settling {
  readonly #pipes: readonly [OutputPipe, OutputPipe];
  #readers: readonly OutputReader[] | undefined;
  #released: (() => void) | undefined;
  #drained: (() => void) | undefined;

  constructor(pipes: readonly [OutputPipe, OutputPipe]) {
    this.#pipes = pipes;
  }

  /** Where the init finds them. */
  get inside(): readonly [string, string] {
    const [stdout, stderr] = this.#pipes;
    return [stdout.inside, stderr.inside];
  }

  get bytes(): number {
    return (this.#readers ?? []).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get held(): boolean {
    return (this.#readers ?? []).some(({ held }) => held);
  }

  onRelease(then: () => void): void {
    this.#released = then;
  }

  /** Begins to read, once the command has been started: before that a pipe would seem to be at its end. */
  read(stdout: Readable, stderr: Readable): void {
    const [out, err] = this.#pipes;
    this.#unlink();
    const over = (): void => {
      if (this.#readers?.every(({ isOver }) => isOver)) this.#drained?.();
    };
    this.#readers = [
      new OutputReader(out.descriptor, stdout, over),
      new OutputReader(err.descriptor, stderr, over),
    ];
  }

  /** The reader of one of the two wants more, or has gone. */
  release(index: 0 | 1): void {
    const reader = this.#readers?.[index];
    if (!reader?.held) return;
    reader.release();
    const released = this.#released;
    this.#released = undefined;
    if (released !== undefined) setImmediate(released);
  }

  /** Calls `done` once, when all that a command has written before its exit, which was just told, has been handed over. */
  drain(done: () => void): void {
    let isDone = false;
    const once = (): void => {
      if (!isDone) done();
      isDone = true;
    };
    if (this.#readers?.every(({ isOver }) => isOver)) return once();
    // Mostly both end with the command; what it left in the background may hold them open.
    this.#drained = once;
    whenSilent(this, once);
  }

  close(): void {
    if (this.#readers !== undefined) for (const reader of this.#readers) reader.close();
    else {
      this.#unlink();
      for (const { descriptor } of this.#pipes) closeSync(descriptor);
    }
  }

  #unlink(): void {
    for (const pipe of this.#pipes) pipe.unlink();
  }
}
