import { Readable } from 'node:stream';
import type { ExecExit, ExecProcess } from '#core/ports/sandbox-provider.ts';
import { transportError } from '../sandbox-errors.ts';
import type { CheckedCommand } from './check-command.ts';
import type { CommandScript } from './command-script.ts';
import { exitOf } from './exit-of.ts';
import { EndScan, findHello, StartScan } from './output-scan.ts';
import type { ShellChannel } from './shell-channel.ts';
import { PIECE, ShellStdin } from './shell-stdin.ts';

export interface ShellCommandContext {
  /** Of the sandbox, for messages. */
  readonly id: string;
  readonly command: CheckedCommand;
  readonly script: CommandScript;
  /** Sends a signal to a process group of the sandbox; never rejects. */
  readonly kill: (group: number, signal: string) => Promise<void>;
  /** Whether the container that the command was started in still runs. */
  readonly isUp: () => Promise<boolean>;
}

/** Read ahead of the reader, in bytes, for each stream. */
const AHEAD = 64 * 1024;

/** Longest time for a command to begin, in milliseconds. */
const BEGIN_MS = 30_000;

/**
 * Hands a command to the shell that runs its script, and resolves once that has taken it.
 * @throws PortholeError `exec_transport_error` where it does not begin, the signal's reason when it aborts
 */
export async function startShellCommand(
  context: ShellCommandContext,
  channel: ShellChannel,
  signal: AbortSignal | undefined,
): Promise<ShellCommand> {
  const running = new ShellCommand(context, channel, signal);
  const late = setTimeout(() => running.abandon('the command did not begin in time'), BEGIN_MS);
  try {
    await running.started;
  } finally {
    clearTimeout(late);
  }
  return running;
}

/** A command in a container, on the channel of its shell. @see ExecProcess for what it promises */
export class ShellCommand implements ExecProcess {
  readonly stdin: ShellStdin | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<ExecExit>;
  /** Resolves once the command has been handed over; rejects with what prevented it. */
  readonly started: Promise<void>;
  readonly #context: ShellCommandContext;
  readonly #channel: ShellChannel;
  readonly #signal: AbortSignal | undefined;
  readonly #isTerminal: boolean;
  readonly #full = new Set<Readable>();
  readonly #ends: { readonly stdout: EndScan; readonly stderr: EndScan };
  readonly #codes = new Map<'stdout' | 'stderr', number>();
  readonly #start = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<ExecExit>();
  #hello: Buffer | undefined = Buffer.alloc(0);
  #echo: StartScan | undefined;
  #group: number | undefined;
  #kills: Promise<void> = Promise.resolve();
  #isKilled = false;
  #isOver = false;

  constructor(context: ShellCommandContext, channel: ShellChannel, signal: AbortSignal | undefined) {
    const { command, script } = context;
    this.#context = context;
    this.#channel = channel;
    this.#signal = signal;
    this.#isTerminal = command.tty !== null;
    this.#echo = this.#isTerminal ? new StartScan(script.mark) : undefined;
    this.#ends = { stdout: new EndScan(script.mark), stderr: new EndScan(script.mark) };
    this.stdout = this.#output();
    this.stderr = this.#output();
    if (this.#isTerminal) this.stderr.push(null);
    this.stdin = command.stdin || this.#isTerminal ? new ShellStdin(channel, this.#isTerminal) : null;
    this.exited = this.#end.promise;
    this.started = this.#start.promise;
    // Whoever only reads the output learns of a loss there; a promise that nobody awaits must not end the host.
    this.exited.catch(() => {});
    this.started.catch(() => {});

    signal?.addEventListener('abort', this.#abort);
    if (signal?.aborted) {
      this.#abort();
      return;
    }
    channel.listen({
      stdout: (bytes) => this.#heard(() => this.#takeStdout(bytes)),
      stderr: (bytes) => this.#heard(() => this.#pass('stderr', bytes)),
      ended: (code) => this.#heard(() => this.#ended(code)),
      lost: (what, cause) => this.#lose(what, cause),
    });
  }

  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP'): void {
    const group = this.#group;
    if (this.#isOver || group === undefined) return;
    if (signal === 'SIGKILL') this.#isKilled = true;
    this.#kills = this.#kills.then(() => (this.#isOver ? undefined : this.#context.kill(group, signal)));
  }

  resize(cols: number, rows: number): void {
    if (this.#isTerminal && !this.#isOver) this.#channel.resize(cols, rows);
  }

  /** Gives it up, and ends it where it runs. */
  abandon(why: string): void {
    this.#lose(why);
  }

  /** Something has come. */
  #heard(take: () => void): void {
    if (this.#isOver) return;
    try {
      take();
    } catch (error) {
      this.#lose('its exec breaks the protocol', error);
    }
  }

  #output(): Readable {
    const stream: Readable = new Readable({ highWaterMark: AHEAD, read: () => this.#release(stream) });
    stream.on('close', () => this.#release(stream));
    // Without a listener an error would end the host; whoever reads gets it all the same.
    stream.on('error', () => {});
    return stream;
  }

  #release(stream: Readable): void {
    if (this.#full.delete(stream) && this.#full.size === 0) this.#channel.resume();
  }

  #push(stream: Readable, bytes: Buffer): void {
    if (bytes.length === 0 || stream.destroyed || stream.push(bytes)) return;
    this.#full.add(stream);
    this.#channel.pause();
  }

  #takeStdout(bytes: Buffer): void {
    if (this.#hello !== undefined) this.#greeted(bytes);
    else this.#said(bytes);
  }

  /** The shell tells its process id, and is handed the command. */
  #greeted(bytes: Buffer): void {
    const { script, command } = this.#context;
    const heard = Buffer.concat([this.#hello ?? bytes, bytes]);
    const hello = findHello(heard, script.mark);
    this.#hello = hello === undefined ? heard : undefined;
    if (hello === undefined) return;
    this.#group = hello.pid;
    if (command.tty !== null) this.#channel.resize(command.tty.cols, command.tty.rows);
    // Its input stays open where the command has none of its own: the shell ends when the input
    // does, and must not end before all of its output has arrived.
    for (let at = 0; at < script.preamble.length; at += PIECE) {
      this.#channel.write(script.preamble.subarray(at, at + PIECE));
    }
    if (!this.#isTerminal) this.#start.resolve();
    this.#said(hello.rest);
  }

  #said(bytes: Buffer): void {
    if (this.#echo !== undefined) {
      const output = this.#echo.take(bytes);
      if (output === undefined) return;
      this.#echo = undefined;
      this.#start.resolve();
      this.#push(this.stdout, output);
    } else this.#pass('stdout', bytes);
  }

  #pass(name: 'stdout' | 'stderr', bytes: Buffer): void {
    const stream = this[name];
    if (this.#isTerminal) return this.#push(stream, bytes);
    if (this.#codes.has(name)) return;
    const { output, code } = this.#ends[name].take(bytes);
    for (const piece of output) this.#push(stream, piece);
    if (code === undefined) return;
    this.#codes.set(name, code);
    stream.push(null);
    if (this.#codes.size === 2) this.#finish(exitOf(code));
  }

  /**
   * The shell has ended. Without a terminal it sends both end marks before, so a shell that ends
   * without them was killed, or the rest of its output is lost. An
   * exit code of 0 proves nothing: an API server also reports it when the node closes the
   * connection before the exit code has come.
   */
  #ended(code: number): void {
    if (this.#group === undefined) return this.#lose(`no command can be started: sh ended with code ${code}`);
    const exit = exitOf(code);
    if (this.#isTerminal && exit.signal === undefined) return this.#finish(exit);
    if (exit.signal === undefined) return this.#lose('the connection broke before the end of the output');
    for (const name of ['stdout', 'stderr'] as const) {
      if (!this.#isTerminal && !this.#codes.has(name)) this.#push(this[name], this.#ends[name].rest());
    }
    // A sandbox that stops kills its commands, too; that is no end of theirs.
    if (this.#isKilled) return this.#finish(exit);
    this.#context.isUp().then(
      (up) => (up ? this.#finish(exit) : this.#lose('it was stopped, and the command with it')),
      (error: unknown) => this.#lose('the command is lost', error),
    );
  }

  #finish(exit: ExecExit): void {
    if (this.#isOver) return;
    this.#close();
    this.#start.resolve();
    for (const [name, stream] of [
      ['stdout', this.stdout],
      ['stderr', this.stderr],
    ] as const) {
      if (!this.#codes.has(name) && !(this.#isTerminal && name === 'stderr')) stream.push(null);
    }
    this.#end.resolve(exit);
  }

  #lose(what: string, cause?: unknown): void {
    this.#fail(transportError(this.#context.id, what, cause));
  }

  /** A command that nobody hears any more is ended. */
  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#close();
    if (this.#group !== undefined) void this.#context.kill(this.#group, 'SIGKILL');
    const { id } = this.#context;
    const reason = error instanceof Error ? error : new Error(`Sandbox ${id}: aborted`, { cause: error });
    this.stdout.destroy(reason);
    this.stderr.destroy(reason);
    this.#start.reject(reason);
    this.#end.reject(error);
  }

  #close(): void {
    this.#isOver = true;
    this.#signal?.removeEventListener('abort', this.#abort);
    this.stdin?.destroy();
    this.#channel.close();
  }

  readonly #abort = (): void => this.#fail(this.#signal?.reason);
}
