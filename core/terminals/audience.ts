import type { Readable } from 'node:stream';
import type { MessageSocket } from './message-socket.ts';

/**
 * What may wait for one viewer, in bytes, before the program is held up; twice what a replay
 * weighs, so that a replay alone holds up nobody.
 */
export const MOST_WAITING = 512 * 1024;
/** What must have remained for the program to go on. */
const FEW_WAITING = 128 * 1024;

/**
 * What is read at once while nobody looks, in bytes, and the rest after it, in milliseconds: some
 * 2.5 MB/s, faster than any build talks, and little work for us where a program never stops
 * talking.
 */
const UNWATCHED = 256 * 1024;
const REST_MS = 100;

/** RFC 6455 has no better one: try again later. */
const TOO_SLOW = 1013;

/**
 * The viewers of one stream, which goes as fast as the slowest of them reads, so that none makes
 * memory grow. One that holds up others for too long is let go; one that is alone may take its
 * time. Without any, the stream goes at a walk.
 */
export class Audience {
  readonly #stream: Readable;
  readonly #stallMs: number;
  readonly #left: (viewer: MessageSocket) => void;
  readonly #viewers = new Set<MessageSocket>();
  /** Those that asked for no more for now. */
  readonly #held = new Set<MessageSocket>();
  /** Runs while viewers hold up the stream. */
  #stall: NodeJS.Timeout | undefined;
  /** Runs while the stream rests unwatched. */
  #rest: NodeJS.Timeout | undefined;
  #unwatched = 0;

  /** @param left called for a viewer that is let go */
  constructor(stream: Readable, stallMs: number, left: (viewer: MessageSocket) => void) {
    this.#stream = stream;
    this.#stallMs = stallMs;
    this.#left = left;
  }

  get size(): number {
    return this.#viewers.size;
  }

  has(viewer: MessageSocket): boolean {
    return this.#viewers.has(viewer);
  }

  add(viewer: MessageSocket): void {
    this.#viewers.add(viewer);
    this.#endRest();
    this.balance();
  }

  /** False where it was none. */
  delete(viewer: MessageSocket): boolean {
    const wasOne = this.#viewers.delete(viewer);
    this.#held.delete(viewer);
    this.balance();
    return wasOne;
  }

  /** Nobody is to see more of it. Returns those who have. */
  clear(): readonly MessageSocket[] {
    const all = [...this.#viewers];
    this.#viewers.clear();
    this.#held.clear();
    this.#endRest();
    this.balance();
    return all;
  }

  /**
   * The viewer has more than it can show, whatever has left for it: it counts as one that does not
   * read until `release`.
   */
  hold(viewer: MessageSocket): void {
    if (this.#viewers.has(viewer)) this.#held.add(viewer);
    this.balance();
  }

  release(viewer: MessageSocket): void {
    this.#held.delete(viewer);
    this.balance();
  }

  send(chunk: Buffer): void {
    if (this.#viewers.size === 0) return this.#passUnseen(chunk.length);
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

  #passUnseen(bytes: number): void {
    this.#unwatched += bytes;
    if (this.#unwatched < UNWATCHED) return;
    this.#stream.pause();
    this.#rest ??= setTimeout(() => this.#endRest(), REST_MS);
  }

  #endRest(): void {
    this.#unwatched = 0;
    if (this.#rest === undefined) return;
    clearTimeout(this.#rest);
    this.#rest = undefined;
    this.#stream.resume();
  }

  #slow(bytes: number): MessageSocket[] {
    return [...this.#viewers].filter((viewer) => viewer.waiting > bytes || this.#held.has(viewer));
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
