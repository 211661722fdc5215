import type { Readable } from 'node:stream';
import type { MessageSocket } from './message-socket.ts';

/**
 * Most bytes that may wait for one viewer before the program is paused: twice a replay, so that a
 * replay alone does not pause it.
 */
export const MAX_WAITING_BYTES = 512 * 1024;
/** The program resumes once at most this many bytes wait. */
export const FEW_WAITING_BYTES = 128 * 1024;

/**
 * Without viewers: bytes per read, and the pause after it in milliseconds. About 2.5 MB/s, faster
 * than any build prints, and cheap for a program that never stops printing.
 */
const UNWATCHED = 256 * 1024;
const REST_MS = 100;

/** IANA WebSocket close code 1013, Try Again Later: RFC 6455 has none for a slow reader. */
const TOO_SLOW = 1013;

/**
 * The viewers of one stream. The slowest viewer sets its pace, so that memory is bounded. A viewer
 * that stalls others for too long is disconnected; a single viewer never is. Without viewers the
 * stream is read at a limited rate.
 */
export class Audience {
  readonly #stream: Readable;
  readonly #stallMs: number;
  readonly #left: (viewer: MessageSocket) => void;
  readonly #viewers = new Set<MessageSocket>();
  /** Viewers that asked for a pause. */
  readonly #held = new Set<MessageSocket>();
  /** Runs while viewers stall the stream. */
  #stall: NodeJS.Timeout | undefined;
  /** Runs while the stream rests unwatched. */
  #rest: NodeJS.Timeout | undefined;
  #unwatched = 0;

  /** @param left called for a viewer that is disconnected */
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

  /** False if it was not a viewer. */
  delete(viewer: MessageSocket): boolean {
    const wasOne = this.#viewers.delete(viewer);
    this.#held.delete(viewer);
    this.balance();
    return wasOne;
  }

  /** Removes and returns all viewers. */
  clear(): readonly MessageSocket[] {
    const all = [...this.#viewers];
    this.#viewers.clear();
    this.#held.clear();
    this.#endRest();
    this.balance();
    return all;
  }

  /** Counts the viewer as not reading until `release`, because it cannot display more. */
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

  /** Pauses or resumes the stream. */
  balance(): void {
    if (this.#stall === undefined) {
      if (this.#slow(MAX_WAITING_BYTES).length === 0) return;
      this.#stream.pause();
      this.#watch();
    } else if (this.#slow(FEW_WAITING_BYTES).length === 0) {
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
      const slow = this.#slow(FEW_WAITING_BYTES);
      this.#watch();
      if (slow.length === this.#viewers.size) return;
      for (const viewer of slow) {
        viewer.close(TOO_SLOW, 'too slow');
        this.#left(viewer);
      }
    }, this.#stallMs);
  }
}
