import type { Writable } from 'node:stream';
import type { MessageSocket } from './message-socket.ts';
import type { TerminalSize } from './terminal-messages.ts';

/** Input that may wait for the program, in bytes, before nobody may type any more. */
const MOST_WAITING = 1024 * 1024;

/** RFC 6455: a message that violates the endpoint's policy. */
const UNREAD = 1008;

/**
 * What viewers type, on its way to a program. When it does not read, they are paused. A paused
 * socket does not tell that its client has gone: so those whose input is not read at all are let go
 * after a while.
 */
export class Keyboard {
  readonly #input: Writable | null;
  readonly #unreadMs: number;
  readonly #left: (viewer: MessageSocket) => void;
  readonly #paused = new Set<MessageSocket>();
  #unread: NodeJS.Timeout | undefined;

  /** @param left called for a viewer that is let go */
  constructor(input: Writable | null, unreadMs: number, left: (viewer: MessageSocket) => void) {
    this.#input = input;
    this.#unreadMs = unreadMs;
    this.#left = left;
    // A program that ends without reading everything is no error of whoever typed.
    input?.on('error', () => undefined);
    input?.on('drain', () => this.#resume());
  }

  type(viewer: MessageSocket, bytes: Buffer): void {
    if (this.#input === null || !this.#input.writable) return;
    this.#input.write(bytes);
    if (this.#input.writableLength < MOST_WAITING) return;
    viewer.pause();
    this.#paused.add(viewer);
    this.#unread ??= setTimeout(() => this.#letGo(), this.#unreadMs);
  }

  forget(viewer: MessageSocket): void {
    this.#paused.delete(viewer);
  }

  /**
   * Nothing is typed any more; the sockets are read again, or they would not notice their own end.
   */
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

/**
 * New sizes within a second that take effect at once. A window that is being dragged makes some
 * dozens.
 */
const AT_ONCE = 100;
const WINDOW_MS = 1_000;

/**
 * Passes on new sizes; of a flood of them only the last of each second, so that none piles up on
 * the way to the sandbox.
 */
export class Resizer {
  readonly #apply: (size: TerminalSize) => void;
  #count = 0;
  /** Runs for a second after a size that came when it did not. */
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
