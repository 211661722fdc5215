import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { FRAME, frame, frameHead, STDIN_WINDOW } from './init/frames.ts';

const PIECE = 64 * 1024;

/**
 * What is typed on a terminal, and the stdin of commands whose init an earlier version started. No more than a window of it is on its way unacknowledged, so that the init never has to stop reading from
 * the connection, and sees at once when it closes, whatever the command does with its input.
 */
export class WindowedStdin extends Writable {
  readonly #socket: Socket;
  #window = STDIN_WINDOW;
  #rest: Buffer = Buffer.alloc(0);
  #written: ((error?: Error | null) => void) | undefined;

  constructor(socket: Socket) {
    super({ decodeStrings: true });
    this.#socket = socket;
    // A command that ends without reading everything is no error of the writer's.
    this.on('error', () => {});
  }

  acknowledge(bytes: number): void {
    this.#window = Math.min(STDIN_WINDOW, this.#window + bytes);
    this.#pump();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#rest = chunk;
    this.#written = done;
    this.#pump();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.write(frame(FRAME.stdinEnd));
    done();
  }

  #pump(): void {
    while (this.#rest.length > 0 && this.#window > 0) {
      const piece = this.#rest.subarray(0, Math.min(PIECE, this.#window));
      this.#rest = this.#rest.subarray(piece.length);
      this.#window -= piece.length;
      this.#socket.write(frameHead(FRAME.stdin, piece.length));
      this.#socket.write(piece);
    }
    if (this.#rest.length > 0) return;
    const done = this.#written;
    this.#written = undefined;
    done?.();
  }
}
