import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { frame, frameHead } from './frames.ts';
import type { Settling } from './settle.ts';

/** Carries a command's output to the host, no faster than the host reads; once closed it reads on and discards. */
export class Outlet implements Settling {
  bytes = 0;
  held = false;
  #released: (() => void) | undefined;
  #open = true;
  readonly #sources = new Set<Readable>();
  readonly #connection: Socket;

  constructor(connection: Socket) {
    this.#connection = connection;
    connection.on('drain', () => this.#release());
  }

  take(source: Readable, type: number): void {
    this.#sources.add(source);
    source.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (!this.#open) return;
      this.#connection.cork();
      this.#connection.write(frameHead(type, chunk.length));
      const more = this.#connection.write(chunk);
      this.#connection.uncork();
      if (more) return;
      this.held = true;
      for (const one of this.#sources) one.pause();
    });
    source.on('close', () => this.#sources.delete(source));
    // A pipe or terminal that breaks has ended; the command's exit says the rest.
    source.on('error', () => {});
  }

  send(type: number, payload: string | Buffer = ''): void {
    if (this.#open && this.#connection.writable) this.#connection.write(frame(type, payload));
  }

  /** The last frame; from here on output is read and thrown away, so that what runs in the background is not stopped by it. */
  close(type: number, payload: string): void {
    if (this.#open && this.#connection.writable) this.#connection.end(frame(type, payload));
    this.discard();
  }

  discard(): void {
    this.#open = false;
    this.#release();
  }

  onRelease(then: () => void): void {
    this.#released = then;
  }

  #release(): void {
    this.held = false;
    for (const one of this.#sources) one.resume();
    const released = this.#released;
    this.#released = undefined;
    if (released !== undefined) setImmediate(released);
  }
}
