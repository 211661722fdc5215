import { Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import { stdinEnd, stdinMessage } from './channel-frames.ts';

const PIECE = 32 * 1024;

/** What a terminal takes for the end of its input. */
const END_OF_TRANSMISSION = Buffer.from([4]);

/** A command's stdin. One message at a time is on its way to the kernel, so a command that does not read stops the writer. */
export class ChannelStdin extends Writable {
  readonly #socket: WebSocket;
  readonly #sent: () => void;
  readonly #isTerminal: boolean;

  constructor(socket: WebSocket, sent: () => void, isTerminal: boolean) {
    super({ decodeStrings: true });
    this.#socket = socket;
    this.#sent = sent;
    this.#isTerminal = isTerminal;
    // A command that ends without reading everything is no error of the writer's.
    this.on('error', () => {});
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const next = (from: number): void => {
      if (from >= chunk.length) return done();
      this.#sent();
      this.#socket.send(stdinMessage(chunk.subarray(from, from + PIECE)), (error) =>
        error ? done(error) : next(from + PIECE),
      );
    };
    next(0);
  }

  override _final(done: (error?: Error | null) => void): void {
    const end = this.#isTerminal ? stdinMessage(END_OF_TRANSMISSION) : stdinEnd();
    this.#socket.send(end, () => done());
  }
}
