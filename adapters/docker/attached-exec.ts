import { Duplex } from 'node:stream';
import type { Engine } from './engine.ts';

/**
 * Starts a program and attaches to its stdin and output. The stream is not read until it has a
 * listener; ending it ends the program's stdin, closing it ends nothing.
 * @throws EngineError 404 or 409 if the container does not run; nothing was started then
 */
export async function attachExec(
  engine: Engine,
  containerId: string,
  argv: readonly string[],
): Promise<Duplex> {
  const exec = await engine.call('exec', (docker, abortSignal) =>
    docker.getContainer(containerId).exec({
      Cmd: [...argv],
      // Every user can enter it.
      WorkingDir: '/',
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
      abortSignal,
    }),
  );
  let starting: Promise<Duplex> | undefined;
  const start = (): Promise<Duplex> =>
    (starting = exec.start({ hijack: true, stdin: true, Detach: false, Tty: false }));
  const socket = await engine.call('exec', start).catch((error: unknown) => {
    starting?.then(
      (late) => late.destroy(),
      () => {},
    );
    throw error;
  });
  // Never removed: without a listener, an error would end the process.
  socket.on('error', () => {});
  return socket;
}

/** A piece of the output of a program without a terminal, as an engine multiplexes it. */
interface AttachedPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Buffer;
}

/** Stream id (1 byte), three zeros, and the payload's length (4 bytes). */
const HEADER = 8;

/**
 * Splits an engine's stream into stdout and stderr. Passes a frame's payload on as it arrives,
 * whatever its length, so it never buffers more than a header.
 */
export class AttachedReader {
  #header: Buffer = Buffer.alloc(0);
  #stream: AttachedPiece['stream'] = 'stdout';
  #left = 0;

  /** @throws Error for a frame that no engine sends */
  take(piece: Buffer): AttachedPiece[] {
    const pieces: AttachedPiece[] = [];
    let rest = piece;
    while (rest.length > 0) {
      if (this.#left > 0) {
        const bytes = rest.subarray(0, this.#left);
        pieces.push({ stream: this.#stream, bytes });
        this.#left -= bytes.length;
        rest = rest.subarray(bytes.length);
        continue;
      }
      const missing = HEADER - this.#header.length;
      this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (this.#header.length === HEADER) this.#begin();
    }
    return pieces;
  }

  #begin(): void {
    const [kind] = this.#header;
    if ((kind !== 1 && kind !== 2) || this.#header.readUIntBE(1, 3) !== 0) {
      throw new Error(`a frame that begins with ${this.#header.toString('hex')}`);
    }
    this.#stream = kind === 1 ? 'stdout' : 'stderr';
    this.#left = this.#header.readUInt32BE(4);
    this.#header = Buffer.alloc(0);
  }
}

/** Bytes of a relay's stderr that are kept. */
const MAX_SAID_BYTES = 2_048;

/**
 * Stdin and stdout of a program in a container, as one byte stream. Keeps stderr for messages.
 * Calls `lost` before it passes the end on, so that users of the stream can end with a reason.
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
      if (this.#said.length < MAX_SAID_BYTES) this.#said += bytes.toString('utf8', 0, MAX_SAID_BYTES);
    } else if (bytes.length > 0 && !this.push(bytes)) this.#socket.pause();
  }
}
