import type { Clock } from './clock-and-ids.ts';

/** A rate limit: a burst, and one more token per interval. */
export class TokenBucket {
  readonly #burst: number;
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #tokens: number;
  #refilledAt: number;

  constructor(burst: number, intervalMs: number, clock: Clock) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
    this.#clock = clock;
    this.#tokens = burst;
    this.#refilledAt = clock.now().getTime();
  }

  /** Whether there were enough tokens. Takes none otherwise. */
  spend(tokens = 1): boolean {
    const refilled = Math.floor((this.#clock.now().getTime() - this.#refilledAt) / this.#intervalMs);
    this.#refilledAt += refilled * this.#intervalMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + refilled);
    if (this.#tokens < tokens) return false;
    this.#tokens -= tokens;
    return true;
  }
}
