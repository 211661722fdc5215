import { constants } from 'node:os';
import { finished } from 'node:stream/promises';
import type { MessageSocket } from './message-socket.ts';
import type { ExecExit, ExecProcess } from '../sandboxes/sandbox-provider.ts';
import type { ReplayRing } from '../runs/event-log.ts';
import { readControl, type TerminalSize } from './terminal-messages.ts';
import { Keyboard, Resizer } from './terminal-input.ts';
import { Audience, MOST_WAITING } from './audience.ts';

/** A terminal's last words to each viewer: a text message, then the end of the socket. */
export interface CloseReason {
  readonly message:
    | { readonly type: 'exit'; readonly code: number; readonly signal?: string }
    | { readonly type: 'error'; readonly message: string };
  /** Of RFC 6455 section 7.4.1. */
  readonly closeCode: 1000 | 1001 | 1011;
}

/** Times in milliseconds. */
export interface TerminalLimits {
  /** From the hang-up to the kill. */
  readonly graceMs: number;
  /** How long one viewer that does not read may hold up the others. */
  readonly stallMs: number;
  /** How long a viewer may wait for a program that reads no input, once too much of it waits. */
  readonly unreadMs: number;
}

export const TERMINAL_LIMITS: TerminalLimits = { graceMs: 8_000, stallMs: 10_000, unreadMs: 60_000 };

export interface TerminalOptions {
  /** The shell, on a terminal, with its stdin open. */
  readonly process: ExecProcess;
  /** Ends it where a hang-up does not. */
  readonly abort: () => void;
  /** What to say when nobody knows how the shell ended. Never rejects. */
  readonly whyLost: () => Promise<CloseReason>;
  /**
   * What a viewer gets to see that comes later. Without it the terminal is private, and ends with
   * its viewer.
   */
  readonly ring?: ReplayRing | undefined;
  readonly limits?: TerminalLimits | undefined;
}

const READY = JSON.stringify({ type: 'ready' });

/** One shell on a terminal, and whoever looks at it. All viewers see the same and may all type. */
export class Terminal {
  /** Resolves once the shell has ended and everybody has been told. Never rejects. */
  readonly over: Promise<void>;
  readonly #process: ExecProcess;
  readonly #options: TerminalOptions;
  readonly #limits: TerminalLimits;
  readonly #viewers: Audience;
  readonly #resizer: Resizer;
  readonly #keyboard: Keyboard;
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
    this.#keyboard = new Keyboard(process.stdin, limits.unreadMs, (viewer) => this.#leave(viewer));
    this.#resizer = new Resizer(({ cols, rows }) => process.resize(cols, rows));
    // A lost connection also rejects the exit, which is where it is told.
    for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
    process.stderr.resume();
    this.over = this.#end();
  }

  /**
   * When its last viewer left, in milliseconds of `performance.now()`; undefined while it has one.
   */
  get leftAt(): number | undefined {
    return this.#leftAt;
  }

  /** How many look at it. */
  get viewers(): number {
    return this.#viewers.size;
  }

  /** Shows what the last viewers saw, says `ready`, and goes on from there. */
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
   * As a terminal does whose line is cut: SIGHUP, which a shell passes on to its jobs, and after a
   * while SIGKILL. A program that says it outlives that (nohup, setsid) does. `goodbye` goes to
   * whoever still looks at it. Resolves as `over` does.
   */
  hangUp(closeReason?: CloseReason): Promise<void> {
    if (this.#isOver) return this.over;
    if (closeReason !== undefined) this.#say(closeReason);
    this.#process.kill('SIGHUP');
    // What it still prints must not keep it from ending.
    this.#flow();
    this.#grace ??= setTimeout(() => {
      this.#options.abort();
      this.#process.stdout.destroy();
    }, this.#limits.graceMs);
    return this.over;
  }

  /** Nothing is read before somebody looks, so that a first viewer misses nothing. */
  #flow(): void {
    if (this.#isFlowing) return;
    this.#isFlowing = true;
    this.#process.stdout.on('data', (chunk: Buffer) => {
      this.#options.ring?.push(chunk);
      this.#viewers.send(chunk);
    });
  }

  #take(viewer: MessageSocket, message: Buffer | string): void {
    // One that is let go may go on typing until its socket has closed.
    if (!this.#viewers.has(viewer)) return;
    if (typeof message !== 'string') return this.#keyboard.type(viewer, message);
    const control = readControl(message);
    if (control.kind === 'resize') this.resize(control.size);
    else if (control.kind === 'pause') this.#viewers.hold(viewer);
    else if (control.kind === 'resume') this.#viewers.release(viewer);
    // Whoever sends nonsense and reads no answers gets none.
    else if (control.kind === 'refused' && viewer.waiting < MOST_WAITING) {
      viewer.send(JSON.stringify({ type: 'error', message: control.message }));
    }
  }

  #leave(viewer: MessageSocket): void {
    this.#keyboard.forget(viewer);
    if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return;
    this.#leftAt = performance.now();
    if (this.#options.ring === undefined) void this.hangUp();
  }

  #say(closeReason: CloseReason): void {
    this.#closeReason ??= closeReason;
    this.#keyboard.end();
    for (const viewer of this.#viewers.clear()) sendClose(viewer, closeReason);
    this.#leftAt ??= performance.now();
  }

  /** All that the shell printed comes before its end. */
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
  const number = constants.signals[signal as NodeJS.Signals] ?? 0;
  const message =
    signal === undefined
      ? ({ type: 'exit', code } as const)
      : ({ type: 'exit', code: 128 + number, signal } as const);
  return { message, closeCode: 1000 };
}

function sendClose(viewer: MessageSocket, { message, closeCode }: CloseReason): void {
  viewer.send(JSON.stringify(message));
  viewer.close(closeCode, '');
}
