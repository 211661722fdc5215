import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { ExecExit, ExecProcess } from '#core/ports/sandbox-provider.ts';
import { FRAME, frame, type InitRequest } from './init/frames.ts';
import { type Accepted, request, transportError } from './init-client.ts';
import { WindowedStdin } from './windowed-stdin.ts';

type Exec = Extract<InitRequest, { op: 'exec' }>;

/** Read ahead of the reader, in bytes, for each stream. */
const AHEAD = 64 * 1024;

/** Starts a command through a sandbox's init. @see ExecProcess for what it promises */
export async function startCommand(
  id: string,
  folder: string,
  command: Exec,
  signal?: AbortSignal,
  answerWithin?: number,
): Promise<ExecProcess> {
  return new RemoteCommand(id, await request(id, folder, command, signal, answerWithin), command, signal);
}

class RemoteCommand implements ExecProcess {
  readonly stdin: WindowedStdin | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<ExecExit>;
  readonly #socket: Socket;
  readonly #full = new Set<Readable>();
  readonly #id: string;
  readonly #signal: AbortSignal | undefined;
  #settle: { resolve: (exit: ExecExit) => void; reject: (reason: unknown) => void };
  readonly #terminal: boolean;
  #over = false;

  constructor(id: string, accepted: Accepted, command: Exec, signal: AbortSignal | undefined) {
    this.#id = id;
    this.#signal = signal;
    this.#socket = accepted.socket;
    this.stdout = this.#output();
    this.stderr = this.#output();
    this.#terminal = command.tty !== null;
    if (this.#terminal) this.stderr.push(null);
    this.stdin = command.stdin || command.tty !== null ? new WindowedStdin(this.#socket) : null;
    const { promise, resolve, reject } = Promise.withResolvers<ExecExit>();
    this.exited = promise;
    // Whoever only reads the output learns of a loss there; a promise that nobody awaits must not end the host.
    promise.catch(() => {});
    this.#settle = { resolve, reject };

    const take = (chunk: Buffer): void => {
      try {
        for (const { type, payload } of accepted.reader.read(chunk)) this.#take(type, payload);
      } catch (error) {
        this.#fail(transportError(id, 'its init breaks the protocol', error));
      }
    };
    this.#socket.on('data', take);
    this.#socket.on('close', () => this.#fail(transportError(id, 'the connection to the command was lost')));
    signal?.addEventListener('abort', this.#abort);
    if (signal?.aborted) this.#abort();
    take(accepted.rest);
    if (this.#full.size === 0) this.#socket.resume();
  }

  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP'): void {
    this.#send(frame(FRAME.signal, signal));
  }

  resize(cols: number, rows: number): void {
    const size = Buffer.alloc(4);
    size.writeUInt16BE(Math.min(Math.max(Math.trunc(cols), 1), 0xffff), 0);
    size.writeUInt16BE(Math.min(Math.max(Math.trunc(rows), 1), 0xffff), 2);
    this.#send(frame(FRAME.resize, size));
  }

  #send(bytes: Buffer): void {
    if (!this.#over) this.#socket.write(bytes);
  }

  #output(): Readable {
    const stream: Readable = new Readable({
      highWaterMark: AHEAD,
      read: () => this.#release(stream),
    });
    stream.on('close', () => this.#release(stream));
    // Without a listener an error would end the host; whoever reads gets it all the same.
    stream.on('error', () => {});
    return stream;
  }

  #release(stream: Readable): void {
    if (this.#full.delete(stream) && this.#full.size === 0) this.#socket.resume();
  }

  #take(type: number, payload: Buffer): void {
    if (this.#over) return;
    if (type === FRAME.stdout || type === FRAME.stderr) {
      const stream = type === FRAME.stderr && !this.#terminal ? this.stderr : this.stdout;
      if (stream.destroyed || payload.length === 0 || stream.push(payload)) return;
      this.#full.add(stream);
      this.#socket.pause();
    } else if (type === FRAME.stdinAck && payload.length === 4)
      this.stdin?.acknowledge(payload.readUInt32BE(0));
    else if (type === FRAME.exit) this.#exit(readExit(payload));
    else throw new Error(`unexpected frame of type ${type}`);
  }

  #exit(exit: ExecExit): void {
    this.#end();
    if (!this.#terminal) this.stderr.push(null);
    this.stdout.push(null);
    this.#settle.resolve(exit);
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.#end();
    const reason =
      error instanceof Error ? error : new Error(`Sandbox ${this.#id}: aborted`, { cause: error });
    this.stdout.destroy(reason);
    this.stderr.destroy(reason);
    this.#settle.reject(error);
  }

  #end(): void {
    this.#over = true;
    this.#signal?.removeEventListener('abort', this.#abort);
    this.stdin?.destroy();
    this.#socket.destroy();
  }

  /** The init kills the group when the connection goes. */
  readonly #abort = (): void => this.#fail(this.#signal?.reason);
}

function readExit(payload: Buffer): ExecExit {
  const { code, signal } = JSON.parse(payload.toString()) as { code?: unknown; signal?: unknown };
  if (typeof signal === 'string' && /^SIG[A-Z0-9]{1,12}$/.test(signal)) return { signal };
  if (Number.isInteger(code) && (code as number) >= 0 && (code as number) <= 255)
    return { code: code as number };
  throw new Error('an exit that is none');
}
