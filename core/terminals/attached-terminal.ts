import { Readable, Writable } from 'node:stream';
import { callbackify } from 'node:util';
import { anySignal } from '#base/concurrency.ts';
import { PortholeError } from '#base/errors.ts';
import type { TerminalSize } from '#protocol/guest/exec-protocol.ts';
import { processExit } from '#protocol/guest/processes-protocol.ts';
import { exitOutcome } from '../processes/exit-outcome.ts';
import type { GuestDeps } from '../processes/reach-guest.ts';
import {
  endProcess,
  followOutput,
  getStarted,
  type OutputEvent,
  resizeProcess,
  sendInput,
  signalProcess,
  type StartedRef,
} from '../processes/sandbox-processes.ts';
import { whyEnded } from '../sandboxes/why-ended.ts';
import { FEW_WAITING_BYTES, MAX_WAITING_BYTES } from './audience.ts';
import type { MessageSocket } from './message-socket.ts';
import { TERMINAL_LIMITS } from './shared-terminal.ts';
import { Resizer, ViewerInput } from './terminal-input.ts';
import { readControl } from './terminal-messages.ts';

export type TerminalRef = StartedRef<'processes'>;

export interface AttachDeps extends GuestDeps {
  /** Aborted when this process is about to end. */
  readonly stopping: AbortSignal;
}

export interface AttachRequest {
  /** Where the output starts. @default the first byte that is kept */
  readonly since?: number | undefined;
  /** Undefined: the size stays. */
  readonly size?: TerminalSize | undefined;
}

/** How long Ctrl-C may wait in a terminal that takes no input, in ms. */
const INTERRUPT_WITHIN_MS = 2_000;
const CTRL_C = Buffer.from([3]);

/** RFC 6455 section 7.4.1. */
const CLOSE = { done: 1000, goingAway: 1001, failed: 1011 } as const;

/**
 * Connects sockets to the terminal of a process, which outlives them. A socket first gets `ready`,
 * then output from a cursor on: `chunk` with the cursor after it, and the bytes as a binary
 * message. It resumes at the last cursor without a gap, at any Porthole process.
 * @throws PortholeError `process_not_found`, `conflict` without a terminal, `invalid_request` for a
 * cursor beyond the end
 */
export async function attachTerminal(
  deps: AttachDeps,
  ref: TerminalRef,
  { since, size }: AttachRequest,
): Promise<(socket: MessageSocket) => void> {
  const { tty, state, output } = await getStarted(deps, ref);
  if (tty === null) throw new PortholeError('conflict', `Process ${ref.id} has no terminal`);
  if (size !== undefined && state === 'running') await resizeProcess(deps, ref, size);
  const start = since ?? output.first;
  const left = new AbortController();
  const signal = anySignal(left.signal, deps.stopping);
  const events = await followOutput(deps, { ...ref, signal }, { since: start, follow: true });
  return (socket) => void new AttachedTerminal(deps, ref, socket, left).show(events, start);
}

/** As Ctrl-C, which reaches the program in the foreground of a shell. */
export async function interruptTerminal(deps: GuestDeps, ref: TerminalRef): Promise<void> {
  const signal = AbortSignal.timeout(INTERRUPT_WITHIN_MS);
  try {
    await sendInput(deps, { ...ref, signal }, { body: Readable.from([CTRL_C]), eof: false });
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'process_exited') return;
    if (!signal.aborted) throw error;
    await signalProcess(deps, ref, 'SIGINT');
  }
}

/** One socket, and the terminal that it shows. */
class AttachedTerminal {
  readonly #deps: AttachDeps;
  readonly #ref: TerminalRef;
  readonly #socket: MessageSocket;
  readonly #left: AbortController;
  readonly #input: ViewerInput;
  readonly #resizer: Resizer;
  #isHeld = false;
  #drained = Promise.withResolvers<void>();

  constructor(deps: AttachDeps, ref: TerminalRef, socket: MessageSocket, left: AbortController) {
    this.#deps = deps;
    // Input that has arrived is delivered, also after the socket has closed.
    this.#ref = { ...ref, signal: undefined };
    this.#socket = socket;
    this.#left = left;
    this.#input = new ViewerInput(inputOf(deps, this.#ref), TERMINAL_LIMITS.unreadMs, () => this.#leave());
    this.#resizer = new Resizer((size) => void resizeProcess(deps, this.#ref, size).catch(() => undefined));
    socket.listen({
      message: (message) => this.#take(message),
      sent: () => this.#balance(),
      closed: () => this.#leave(),
    });
  }

  /** Never rejects. */
  async show(events: AsyncIterable<OutputEvent | undefined>, start: number): Promise<void> {
    this.#say({ type: 'ready', cursor: String(start) });
    try {
      for await (const event of events) {
        if (event === undefined) continue;
        if (this.#send(event)) return;
        await this.#room();
      }
      this.#close(CLOSE.done, { type: 'error', message: 'The output of the terminal has ended.' });
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#leave();
    }
  }

  /** Whether it was the last event. */
  #send({ event, data, id: cursor }: OutputEvent): boolean {
    if (event === 'cut') {
      this.#say({ type: 'truncated', cursor });
      return false;
    }
    if (event !== 'exit') {
      const bytes = Buffer.from(data, 'base64');
      this.#say({ type: 'chunk', cursor, byteLength: bytes.length });
      this.#socket.send(bytes);
      return false;
    }
    const outcome = exitOutcome(processExit.parse(JSON.parse(data)));
    if (outcome.state === 'exited') this.#close(CLOSE.done, { type: 'exit', cursor, exit: outcome.exit });
    else this.#close(CLOSE.failed, { type: 'error', cursor, ...outcome.error });
    return true;
  }

  #take(message: Buffer | string): void {
    if (typeof message !== 'string') return this.#input.type(this.#socket, message);
    const control = readControl(message);
    if (control.kind === 'resize') this.#resizer.resize(control.size);
    else if (control.kind === 'pause' || control.kind === 'resume') {
      this.#isHeld = control.kind === 'pause';
      this.#balance();
    } else if (control.kind === 'interrupt') this.#control(interruptTerminal(this.#deps, this.#ref));
    else if (control.kind === 'terminate') this.#control(endProcess(this.#deps, this.#ref));
    else this.#refuse(control.kind === 'refused' ? control.message : 'Invalid control message');
  }

  #control(done: Promise<unknown>): void {
    done.catch((error: unknown) => {
      if (error instanceof PortholeError) this.#refuse(error.message);
    });
  }

  /** Bounds memory: a client that reads no replies gets none. */
  #refuse(message: string): void {
    if (this.#socket.waiting < MAX_WAITING_BYTES) this.#say({ type: 'error', message });
  }

  /** Resolves once the socket can take more: its pace is that of the reads from the guest. */
  async #room(): Promise<void> {
    if (!this.#isHeld && this.#socket.waiting <= MAX_WAITING_BYTES) return;
    this.#drained = Promise.withResolvers();
    this.#balance();
    await this.#drained.promise;
  }

  #balance(): void {
    const hasRoom = !this.#isHeld && this.#socket.waiting <= FEW_WAITING_BYTES;
    if (hasRoom || this.#left.signal.aborted) this.#drained.resolve();
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#left.signal.aborted) return;
    if (this.#deps.stopping.aborted) {
      this.#close(CLOSE.goingAway, { type: 'error', message: 'Porthole is shutting down: connect again.' });
      return;
    }
    const { sandboxId: id } = this.#ref;
    const ended = await whyEnded(this.#deps, { id }, 'terminal');
    const known = error instanceof PortholeError ? error.message : 'The connection to the sandbox was lost';
    const message = ended ?? `${known} Connect again at the last cursor.`;
    this.#close(ended === undefined ? CLOSE.failed : CLOSE.goingAway, { type: 'error', message });
  }

  #say(message: object): void {
    this.#socket.send(JSON.stringify(message));
  }

  #close(code: number, message: object): void {
    this.#say(message);
    this.#socket.close(code, '');
  }

  #leave(): void {
    this.#left.abort();
    this.#input.end();
    this.#input.forget(this.#socket);
    this.#resizer.end();
    this.#balance();
  }
}

/** One call of the guest at a time: what is typed meanwhile is sent by the next. */
function inputOf(deps: GuestDeps, ref: TerminalRef): Writable {
  const send = callbackify(async (pieces: readonly Buffer[]) => {
    await sendInput(deps, ref, { body: Readable.from(pieces), eof: false });
  });
  return new Writable({
    write: (piece: Buffer, _encoding, done) => send([piece], done),
    writev: (pieces, done) =>
      send(
        pieces.map(({ chunk }) => chunk as Buffer),
        done,
      ),
  });
}
