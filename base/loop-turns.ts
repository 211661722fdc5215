import { oneAtATime } from './concurrency.ts';

/** Milliseconds of one turn: others wait for one in each pass of the event loop. */
const TURN_MS = 5;
/** A machine that paused for seconds is not the work of an owner. */
const MAX_RESTS = 50;

interface Waiting {
  readonly resume: (() => void)[];
  /** Turns to skip, because its last turn took too long. */
  rests: number;
}

/**
 * Shares the event loop. In one pass of the loop, all work on foreign input together gets one turn;
 * what waits gets the next turns, owner by owner. So neither a long input nor many sandboxes of one
 * owner delay the others.
 */
export class LoopTurns {
  readonly #clock: () => number;
  readonly #waiting = new Map<string, Waiting>();
  #owner = '';
  #endsAt = 0;
  #isOpen = false;

  /** @param clock in milliseconds */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /**
   * Undefined: the turn is not over, go on, without an `await` before the work. Otherwise resolves
   * at the owner's next turn.
   */
  next(owner: string): Promise<void> | undefined {
    const now = this.#clock();
    if (!this.#isOpen) this.#open(owner, now);
    if (now < this.#endsAt) {
      this.#owner = owner;
      return undefined;
    }
    const waiting = this.#waiting.get(owner) ?? { resume: [], rests: 0 };
    this.#waiting.set(owner, waiting);
    if (owner === this.#owner) {
      const rests = Math.min(MAX_RESTS, Math.floor((now - this.#endsAt) / TURN_MS));
      waiting.rests = Math.max(waiting.rests, rests);
    }
    return new Promise((resolve) => waiting.resume.push(resolve));
  }

  /**
   * Does `work` in a turn of the owner, after its earlier calls: many of them that begin at once
   * would each find the same turn open, and use it together.
   */
  run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    return oneAtATime(this, owner, async () => {
      await this.next(owner);
      return work();
    });
  }

  #open(owner: string, now: number): void {
    this.#isOpen = true;
    this.#owner = owner;
    this.#endsAt = now + TURN_MS;
    setImmediate(() => this.#pass());
  }

  #pass(): void {
    this.#isOpen = false;
    for (const [owner, waiting] of this.#waiting) {
      if (waiting.rests > 0) {
        waiting.rests -= 1;
        continue;
      }
      this.#waiting.delete(owner);
      const [resume, ...others] = waiting.resume;
      // Behind the other owners.
      if (others.length > 0) this.#waiting.set(owner, { resume: others, rests: 0 });
      this.#open(owner, this.#clock());
      resume?.();
      return;
    }
    if (this.#waiting.size === 0) return;
    // All of them rest: a pass without a turn.
    this.#isOpen = true;
    this.#endsAt = this.#clock();
    setImmediate(() => this.#pass());
  }
}

/** Shared by the process, which has one event loop. */
export const loopTurns = new LoopTurns();
