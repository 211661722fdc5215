import type { Socket } from 'node:net';
import { Readable, type Writable } from 'node:stream';
import type { ExecExit, ExecProcess } from '#core/ports/sandbox-provider.ts';
import { CommandOutputs } from './command-outputs.ts';
import { FRAME, frame, type InitRequest } from './init/frames.ts';
import { type Accepted, request, transportError } from './init-client.ts';
import { openInput } from './open-input.ts';
import type { OutputPipe } from './output-pipes.ts';
import { WindowedStdin } from './windowed-stdin.ts';

type Exec = Extract<InitRequest, { op: 'exec' }>;

/** Read ahead of the reader, in bytes, for each stream. */
const AHEAD = 64 * 1024;

/** How a command is started. */
export interface StartOptions {
  /** Kills the command. */
  readonly signal?: AbortSignal | undefined;
  /** @default ANSWER_WITHIN */
  readonly answerWithin?: number | undefined;
  /** Gives the pipes for its output. Without it everything comes and goes as frames: an init that an earlier version started knows nothing else. */
  readonly pipes?: (() => Promise<readonly [OutputPipe, OutputPipe] | undefined>) | undefined;
}

/** Starts a command through a sandbox's init. @see ExecProcess for what it promises */
export async function startCommand(
  id: string,
  folder: string,
  command: Exec,
  { signal, answerWithin, pipes }: StartOptions = {},
): Promise<ExecProcess> {
  if (pipes === undefined || command.tty !== null) {
    return new RemoteCommand(id, await request(id, folder, command, signal, answerWithin), command, signal);
  }
  const input = command.stdin ? await openInput(id, folder, signal, answerWithin) : undefined;
  let outputs: CommandOutputs | undefined;
  try {
    const taken = await pipes();
    if (taken !== undefined) outputs = new CommandOutputs(taken);
    const direct = {
      ...command,
      ...(input === undefined ? {} : { input: input.ticket }),
      ...(outputs === undefined ? {} : { outputs: outputs.inside }),
    };
    const accepted = await request(id, folder, direct, signal, answerWithin);
    return new RemoteCommand(id, accepted, command, signal, input?.socket, outputs);
  } catch (error) {
    input?.socket.destroy();
    outputs?.close();
    throw error;
  }
}

class RemoteCommand implements ExecProcess {
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<ExecExit>;
  readonly #socket: Socket;
  readonly #windowed: WindowedStdin | undefined;
  readonly #outputs: CommandOutputs | undefined;
  readonly #full = new Set<Readable>();
  readonly #id: string;
  readonly #signal: AbortSignal | undefined;
  #settle: { resolve: (exit: ExecExit) => void; reject: (reason: unknown) => void };
  readonly #terminal: boolean;
  #exit: ExecExit | undefined;
  #over = false;

  constructor(
    id: string,
    accepted: Accepted,
    command: Exec,
    signal: AbortSignal | undefined,
    input?: Socket,
    outputs?: CommandOutputs,
  ) {
    this.#id = id;
    this.#signal = signal;
    this.#socket = accepted.socket;
    this.#outputs = outputs;
    this.stdout = this.#output(0);
    this.stderr = this.#output(1);
    this.#terminal = command.tty !== null;
    if (this.#terminal) this.stderr.push(null);
    if (input === undefined && (command.stdin || this.#terminal)) {
      this.#windowed = new WindowedStdin(this.#socket);
    }
    this.stdin = input ?? this.#windowed ?? null;
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
    this.#socket.on('close', () => {
      // Once the exit is known, all that is left of its output is in the pipes.
      if (this.#exit === undefined) this.#fail(transportError(id, 'the connection to the command was lost'));
    });
    outputs?.read(this.stdout, this.stderr);
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

  #output(index: 0 | 1): Readable {
    const release = (): void => {
      this.#outputs?.release(index);
      if (this.#full.delete(stream) && this.#full.size === 0) this.#socket.resume();
    };
    const stream: Readable = new Readable({ highWaterMark: AHEAD, read: release });
    stream.on('close', release);
    // Without a listener an error would end the host; whoever reads gets it all the same.
    stream.on('error', () => {});
    return stream;
  }

  #take(type: number, payload: Buffer): void {
    if (this.#over || this.#exit !== undefined) return;
    if (type === FRAME.stdout || type === FRAME.stderr) {
      const stream = type === FRAME.stderr && !this.#terminal ? this.stderr : this.stdout;
      if (stream.destroyed || payload.length === 0 || stream.push(payload)) return;
      this.#full.add(stream);
      this.#socket.pause();
    } else if (type === FRAME.stdinAck && payload.length === 4)
      this.#windowed?.acknowledge(payload.readUInt32BE(0));
    else if (type === FRAME.exit) {
      const exit = readExit(payload);
      this.#exit = exit;
      if (this.#outputs === undefined) this.#finish(exit);
      else this.#outputs.drain(() => this.#finish(exit));
    } else throw new Error(`unexpected frame of type ${type}`);
  }

  #finish(exit: ExecExit): void {
    if (this.#over) return;
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
    this.#outputs?.close();
    // Last: from here on the init reads what is left, and must not take any of ours.
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
