import { LRUCache } from 'lru-cache';
import type { Clock, Owner } from '#base/clock-and-ids.ts';
import { TokenBucket } from '#base/token-bucket.ts';
import { PortholeError } from '#base/errors.ts';

/** Tickets at once. Visitors behind one address without a sign-in share them. */
const BURST = 300;
/** In milliseconds, for one more ticket. */
const INTERVAL_MS = 200;
const MAX_VISITORS = 10_000;

/**
 * Limits the tickets of one visitor of one preview. A gateway refuses tickets that it cannot
 * remember as used, so one visitor without a limit would keep the others out.
 */
export class TicketRate {
  readonly #visitors = new LRUCache<string, TokenBucket>({ max: MAX_VISITORS });
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws PortholeError `too_many_requests` */
  spend(preview: string, person: Owner | undefined, address: string | undefined): void {
    const key = JSON.stringify([preview, person?.org, person?.user ?? address]);
    const bucket = this.#visitors.get(key) ?? new TokenBucket(BURST, INTERVAL_MS, this.#clock);
    this.#visitors.set(key, bucket);
    if (bucket.spend()) return;
    throw new PortholeError('too_many_requests', 'You have opened this preview too often', {
      remedy: 'try again in a second.',
      retryAfterSeconds: 1,
    });
  }
}
