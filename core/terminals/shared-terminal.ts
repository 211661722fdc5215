import { finished } from 'node:stream/promises';
import type { MessageSocket } from './message-socket.ts';
import type { ExecExit, ExecProcess } from '../sandboxes/sandbox-provider.ts';
import type { ReplayRing } from '../runs/event-log.ts';
import type { TerminalSize } from '#protocol/guest/exec-protocol.ts';
import { exitCodeOfSignal } from '#protocol/guest/signals.ts';
import { readControl } from './terminal-messages.ts';
import { Resizer, ViewerInput } from './terminal-input.ts';
import { Audience, MAX_WAITING_BYTES } from './audience.ts';

/** How each viewer's connection ends: a last text message, then the close code. */
export interface CloseReason {
  readonly message:
    | { readonly type: 'exit'; readonly code: number; readonly signal?: string }
    | { readonly type: 'error'; readonly message: string };
  /** RFC 6455 section 7.4.1. */
  readonly closeCode: 1000 | 1001 | 1011;
}

/** Times in milliseconds. */
export interface TerminalLimits {
  /** From SIGHUP to SIGKILL. */
  readonly graceMs: number;
  /** How long a viewer that does not read may stall the others. */
  readonly stallMs: number;
  /** How long a viewer may wait, once too much input is buffered, for a program that reads none. */
  readonly unreadMs: number;
}

export const TERMINAL_LIMITS: TerminalLimits = { graceMs: 8_000, stallMs: 10_000, unreadMs: 60_000 };

export interface TerminalOptions {
  /** The shell, on a terminal, with its stdin open. */
  readonly process: ExecProcess;
  /** Kills the shell if SIGHUP does not end it. */
  readonly abort: () => void;
  /** The close reason if the shell's exit is unknown. Never rejects. */
  readonly whyLost: () => Promise<CloseReason>;
  /** Output for later viewers. Without it the terminal is private, and ends with its viewer. */
  readonly ring?: ReplayRing | undefined;
  readonly limits?: TerminalLimits | undefined;
}

const READY = JSON.stringify({ type: 'ready' });

/** One shell on a terminal, and its viewers. All viewers see the same output and may type. */
export class Terminal {
  /** Resolves once the shell has ended and every viewer is notified. Never rejects. */
  readonly over: Promise<void>;
  readonly #process: ExecProcess;
  readonly #options: TerminalOptions;
  readonly #limits: TerminalLimits;
  readonly #viewers: Audience;
  readonly #resizer: Resizer;
  readonly #input: ViewerInput;
  #isFlowing = false;
  #isOver = false;
  #closeReason: CloseReason | undefined;
  #grace: NodeJS.Timeout | undefined;
  #leftAt: number | undefined = performance.now();

  constructor(options: TerminalOptions) {
    const { process, limits = TERMINAL_LIMITS } = options;
    this.#process = process;
    this.#options = options;
    this.#limits = limits;
    this.#viewers = new Audience(process.stdout, limits.stallMs, (viewer) => this.#leave(viewer));
    this.#input = new ViewerInput(process.stdin, limits.unreadMs, (viewer) => this.#leave(viewer));
    this.#resizer = new Resizer(({ cols, rows }) => process.resize(cols, rows));
    // A lost connection also rejects the exit, which reports it.
    for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
    process.stderr.resume();
    this.over = this.#end();
  }

  /** When its last viewer left, as `performance.now()`; undefined while it has one. */
  get leftAt(): number | undefined {
    return this.#leftAt;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** Sends the replay, then `ready`, then live output. */
  attach(viewer: MessageSocket): void {
    viewer.listen({
      message: (message) => this.#take(viewer, message),
      sent: () => this.#viewers.balance(),
      closed: () => this.#leave(viewer),
    });
    const seen = this.#options.ring?.contents();
    if (seen !== undefined && seen.length > 0) viewer.send(seen);
    viewer.send(READY);
    if (this.#closeReason !== undefined) return sendClose(viewer, this.#closeReason);
    this.#viewers.add(viewer);
    this.#leftAt = undefined;
    this.#flow();
  }

  resize(size: TerminalSize): void {
    if (!this.#isOver) this.#resizer.resize(size);
  }

  /**
   * Sends SIGHUP, as a disconnected terminal does, which a shell passes on to its jobs, and SIGKILL
   * after `graceMs`. Programs run with nohup or setsid survive. `closeReason` goes to all viewers.
   * Resolves as `over` does.
   */
  hangUp(closeReason?: CloseReason): Promise<void> {
    if (this.#isOver) return this.over;
    if (closeReason !== undefined) this.#say(closeReason);
    this.#process.kill('SIGHUP');
    // Unread output must not keep the shell from ending.
    this.#flow();
    this.#grace ??= setTimeout(() => {
      this.#options.abort();
      this.#process.stdout.destroy();
    }, this.#limits.graceMs);
    return this.over;
  }

  /** Reading starts with the first viewer, so that it misses no output. */
  #flow(): void {
    if (this.#isFlowing) return;
    this.#isFlowing = true;
    this.#process.stdout.on('data', (chunk: Buffer) => {
      this.#options.ring?.push(chunk);
      this.#viewers.send(chunk);
    });
  }

  #take(viewer: MessageSocket, message: Buffer | string): void {
    // A disconnected viewer may still send input until its socket has closed.
    if (!this.#viewers.has(viewer)) return;
    if (typeof message !== 'string') return this.#input.type(viewer, message);
    const control = readControl(message);
    if (control.kind === 'resize') this.resize(control.size);
    else if (control.kind === 'pause') this.#viewers.hold(viewer);
    else if (control.kind === 'resume') this.#viewers.release(viewer);
    // Bounds memory: a client that sends invalid messages and reads no replies gets none.
    else if (control.kind === 'refused' && viewer.waiting < MAX_WAITING_BYTES) {
      viewer.send(JSON.stringify({ type: 'error', message: control.message }));
    }
  }

  #leave(viewer: MessageSocket): void {
    this.#input.forget(viewer);
    if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return;
    this.#leftAt = performance.now();
    if (this.#options.ring === undefined) void this.hangUp();
  }

  #say(closeReason: CloseReason): void {
    this.#closeReason ??= closeReason;
    this.#input.end();
    for (const viewer of this.#viewers.clear()) sendClose(viewer, closeReason);
    this.#leftAt ??= performance.now();
  }

  /** Sends all output before the end of the shell. */
  async #end(): Promise<void> {
    const shown = finished(this.#process.stdout).catch(() => undefined);
    const closeReason = await this.#process.exited.then(exited, () => this.#options.whyLost());
    await shown;
    this.#isOver = true;
    clearTimeout(this.#grace);
    this.#resizer.end();
    this.#say(closeReason);
  }
}

function exited({ code, signal }: ExecExit): CloseReason {
  const message =
    signal === undefined
      ? ({ type: 'exit', code } as const)
      : ({ type: 'exit', code: exitCodeOfSignal(signal), signal } as const);
  return { message, closeCode: 1000 };
}

function sendClose(viewer: MessageSocket, { message, closeCode }: CloseReason): void {
  viewer.send(JSON.stringify(message));
  viewer.close(closeCode, '');
}
