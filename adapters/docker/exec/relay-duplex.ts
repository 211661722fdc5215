import { Duplex } from 'node:stream';
import { AttachedReader } from './attached-frames.ts';

/** Of a relay's complaints, in bytes, no more is kept. */
const MOST_SAID = 2_048;

/**
 * What a program in a container reads and prints, as one byte stream; what it says on stderr is kept for messages.
 * `lost` is called before the end is passed on, so that what runs on the stream can be ended with a reason.
 */
export class RelayDuplex extends Duplex {
  readonly #socket: Duplex;
  #said = '';

  /** @param socket of the exec, hijacked; not read yet */
  constructor(socket: Duplex, lost: (said: string, cause?: unknown) => void) {
    super();
    this.#socket = socket;
    const reader = new AttachedReader();
    const over = (cause?: unknown): void => {
      if (this.destroyed) return;
      lost(this.#said.trim(), cause);
      this.destroy();
    };
    this.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      try {
        for (const { stream, bytes } of reader.take(piece)) this.#take(stream, bytes);
      } catch (error) {
        over(error);
      }
    });
    socket.once('end', () => over()).once('close', () => over());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #take(stream: 'stdout' | 'stderr', bytes: Buffer): void {
    if (stream === 'stderr') {
      if (this.#said.length < MOST_SAID) this.#said += bytes.toString('utf8', 0, MOST_SAID);
    } else if (bytes.length > 0 && !this.push(bytes)) this.#socket.pause();
  }
}
