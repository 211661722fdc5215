import type { Writable } from 'node:stream';
import type { MessageSocket } from './message-socket.ts';
import type { TerminalSize } from '#protocol/guest/exec-protocol.ts';

/** Most bytes of input that may wait for the program before viewers are paused. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** RFC 6455: a message that violates the endpoint's policy. */
const UNREAD = 1008;

/**
 * Passes the viewers' input to a program, and pauses them while it does not read. A paused socket
 * does not report that its client has gone, so a viewer is disconnected when it is paused too long.
 */
export class ViewerInput {
  readonly #input: Writable | null;
  readonly #unreadMs: number;
  readonly #left: (viewer: MessageSocket) => void;
  readonly #paused = new Set<MessageSocket>();
  #unread: NodeJS.Timeout | undefined;

  /** @param left called for a viewer that is disconnected */
  constructor(input: Writable | null, unreadMs: number, left: (viewer: MessageSocket) => void) {
    this.#input = input;
    this.#unreadMs = unreadMs;
    this.#left = left;
    // A program may end without reading all input: not an error.
    input?.on('error', () => undefined);
    input?.on('drain', () => this.#resume());
  }

  type(viewer: MessageSocket, bytes: Buffer): void {
    if (this.#input === null || !this.#input.writable) return;
    this.#input.write(bytes);
    if (this.#input.writableLength < MAX_WAITING_BYTES) return;
    viewer.pause();
    this.#paused.add(viewer);
    this.#unread ??= setTimeout(() => this.#letGo(), this.#unreadMs);
  }

  forget(viewer: MessageSocket): void {
    this.#paused.delete(viewer);
  }

  /** Ends the input, and resumes the sockets, or they would not notice that they close. */
  end(): void {
    this.#resume();
  }

  #resume(): void {
    clearTimeout(this.#unread);
    this.#unread = undefined;
    for (const viewer of this.#paused) viewer.resume();
    this.#paused.clear();
  }

  #letGo(): void {
    const stuck = [...this.#paused];
    this.#resume();
    for (const viewer of stuck) {
      viewer.close(UNREAD, 'the program does not read its input');
      this.#left(viewer);
    }
  }
}

/** Sizes within a second that apply at once. Dragging a window causes a few dozen. */
const AT_ONCE = 100;
const WINDOW_MS = 1_000;

/** Applies new sizes; above the rate limit only the last of each second, to bound the backlog. */
export class Resizer {
  readonly #apply: (size: TerminalSize) => void;
  #count = 0;
  /** The rate-limit window: runs for a second after the size that opened it. */
  #window: NodeJS.Timeout | undefined;
  #last: TerminalSize | undefined;

  constructor(apply: (size: TerminalSize) => void) {
    this.#apply = apply;
  }

  resize(size: TerminalSize): void {
    this.#window ??= setTimeout(() => this.#next(), WINDOW_MS);
    this.#count += 1;
    if (this.#count <= AT_ONCE) this.#apply(size);
    else this.#last = size;
  }

  end(): void {
    clearTimeout(this.#window);
    this.#window = undefined;
    this.#last = undefined;
  }

  #next(): void {
    const last = this.#last;
    this.end();
    this.#count = 0;
    if (last !== undefined) this.resize(last);
  }
}
