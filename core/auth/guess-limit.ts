import { hash } from 'node:crypto';
import type { Clock } from '#base/clock-and-ids.ts';

const WINDOW_MS = 60_000;
/** Addresses to remember; the oldest are dropped first. */
const MAX_KNOWN = 10_000;

/**
 * Rate limit for guessing: an address that sends too many different wrong secrets within a minute
 * may try no new one until the minute is over. The same wrong secret counts once, because a client
 * may repeat an expired one.
 */
export class GuessLimit {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #wrong = new Map<string, { readonly since: number; readonly secrets: Set<string> }>();

  constructor(most: number, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  /** For how many seconds the address may not try this secret; 0: not blocked. */
  blockedFor(address: string | undefined, secret: string): number {
    const window = address === undefined ? undefined : this.#windowOf(address);
    if (window === undefined || window.secrets.size < this.#most) return 0;
    const key = digest(secret);
    if (window.secrets.has(key)) return 0;
    return Math.max(1, Math.ceil((window.since + WINDOW_MS - this.#clock.now().getTime()) / 1_000));
  }

  wrong(address: string | undefined, secret: string): void {
    if (address === undefined) return;
    const key = digest(secret);
    const window = this.#windowOf(address) ?? { since: this.#clock.now().getTime(), secrets: new Set() };
    if (window.secrets.size < this.#most) window.secrets.add(key);
    this.#wrong.delete(address);
    this.#wrong.set(address, window);
    if (this.#wrong.size <= MAX_KNOWN) return;
    const { value } = this.#wrong.keys().next();
    if (value !== undefined) this.#wrong.delete(value);
  }

  #windowOf(address: string) {
    const window = this.#wrong.get(address);
    return window !== undefined && this.#clock.now().getTime() - window.since < WINDOW_MS
      ? window
      : undefined;
  }
}

function digest(secret: string): string {
  return hash('sha256', secret, 'base64');
}
