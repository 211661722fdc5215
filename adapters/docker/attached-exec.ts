import { Duplex } from 'node:stream';
import type { Engine } from './engine.ts';

/** A program that was started in a container, with the stream of what it reads and says. */
interface AttachedExec {
  readonly execId: string;
  /**
   * Nothing is read of it before somebody listens. Ending it ends the program's input; closing it
   * ends nothing.
   */
  readonly socket: Duplex;
}

interface ExecRequest {
  readonly containerId: string;
  readonly argv: readonly string[];
  /** Whether it reads; otherwise it gets no input. */
  readonly stdin: boolean;
  readonly tty: boolean;
}

/**
 * Keys by which a terminal would be let go of: an engine looks for them in what is typed and holds
 * back what may be the first of them. There is no way to have none; so many of one that hardly any
 * terminal has a use for will not be typed.
 */
const DETACH_KEYS = Array.from({ length: 32 }, () => 'ctrl-_').join(',');

/**
 * Starts a program and attaches to it.
 * @throws EngineError, 404 and 409 where the container does not run: nothing was started then
 */
export async function attachExec(
  engine: Engine,
  { containerId, argv, stdin, tty }: ExecRequest,
  signal?: AbortSignal,
): Promise<AttachedExec> {
  const exec = await engine.call(
    'exec',
    (docker, abortSignal) =>
      docker.getContainer(containerId).exec({
        Cmd: [...argv],
        // Which can always be entered.
        WorkingDir: '/',
        AttachStdin: stdin,
        AttachStdout: true,
        AttachStderr: !tty,
        Tty: tty,
        ...(tty && { DetachKeys: DETACH_KEYS }),
        abortSignal,
      }),
    signal,
  );
  // Not told of the signal, which would go on to end the stream when it aborts later.
  let starting: Promise<Duplex> | undefined;
  const start = (): Promise<Duplex> =>
    (starting = exec.start({ hijack: true, stdin: true, Detach: false, Tty: tty }));
  const socket = await engine.call('exec', start, signal).catch((error: unknown) => {
    starting?.then(
      (late) => late.destroy(),
      () => {},
    );
    throw error;
  });
  // Stays for good: without a listener, an error would end the process.
  socket.on('error', () => {});
  return { execId: exec.id, socket };
}

/** A piece of what a program without a terminal says, as an engine multiplexes it. */
interface AttachedPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Buffer;
}

/** A byte for the stream, three zeros, and the length of what follows in four. */
const HEADER = 8;

/**
 * Divides an engine's stream into the program's two. A frame's payload is passed on as it comes,
 * however long it says it is: no more than a header is ever kept.
 */
export class AttachedReader {
  #header: Buffer = Buffer.alloc(0);
  #stream: AttachedPiece['stream'] = 'stdout';
  #left = 0;

  /** @throws Error for what no engine sends */
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

/** Of a relay's complaints, in bytes, no more is kept. */
const MOST_SAID = 2_048;

/**
 * What a program in a container reads and prints, as one byte stream; what it says on stderr is
 * kept for messages. `lost` is called before the end is passed on, so that what runs on the stream
 * can be ended with a reason.
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
