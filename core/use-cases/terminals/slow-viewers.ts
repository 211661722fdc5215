import type { Readable } from 'node:stream';
import type { MessageSocket } from '../../ports/message-socket.ts';

/** What may wait for one viewer, in bytes, before the program is held up; twice what a replay weighs, so that a replay alone holds up nobody. */
const MOST_WAITING = 512 * 1024;
/** What must have remained for the program to go on. */
const FEW_WAITING = 128 * 1024;

/** RFC 6455 has no better one: try again later. */
const TOO_SLOW = 1013;

/**
 * The viewers of one stream, which goes as fast as the slowest of them reads, so that none makes memory grow. One that holds up others for too long is let go; one that is
 * alone may take its time.
 */
export class SlowViewers {
  readonly #stream: Readable;
  readonly #stallMs: number;
  readonly #left: (viewer: MessageSocket) => void;
  readonly #viewers = new Set<MessageSocket>();
  /** Runs while the stream is held up. */
  #stall: NodeJS.Timeout | undefined;

  /** @param left called for a viewer that is let go */
  constructor(stream: Readable, stallMs: number, left: (viewer: MessageSocket) => void) {
    this.#stream = stream;
    this.#stallMs = stallMs;
    this.#left = left;
  }

  get size(): number {
    return this.#viewers.size;
  }

  add(viewer: MessageSocket): void {
    this.#viewers.add(viewer);
    this.balance();
  }

  has(viewer: MessageSocket): boolean {
    return this.#viewers.has(viewer);
  }

  /** False where it was none. */
  delete(viewer: MessageSocket): boolean {
    const wasOne = this.#viewers.delete(viewer);
    this.balance();
    return wasOne;
  }

  /** Returns those that there were. */
  clear(): readonly MessageSocket[] {
    const all = [...this.#viewers];
    this.#viewers.clear();
    this.balance();
    return all;
  }

  send(chunk: Buffer): void {
    for (const viewer of this.#viewers) viewer.send(chunk);
    this.balance();
  }

  /** Holds up the stream, or lets it go on. */
  balance(): void {
    if (this.#stall === undefined) {
      if (this.#slow(MOST_WAITING).length === 0) return;
      this.#stream.pause();
      this.#watch();
    } else if (this.#slow(FEW_WAITING).length === 0) {
      clearTimeout(this.#stall);
      this.#stall = undefined;
      this.#stream.resume();
    }
  }

  #slow(bytes: number): MessageSocket[] {
    return [...this.#viewers].filter(({ waiting }) => waiting > bytes);
  }

  #watch(): void {
    this.#stall = setTimeout(() => {
      const slow = this.#slow(FEW_WAITING);
      this.#watch();
      if (slow.length === this.#viewers.size) return;
      for (const viewer of slow) {
        viewer.close(TOO_SLOW, 'too slow');
        this.#left(viewer);
      }
    }, this.#stallMs);
  }
}
