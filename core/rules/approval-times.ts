const MINUTE = 60_000;

/** How long somebody is waited for. */
const ANSWER_MS = 5 * MINUTE;
/** How long a decision that its caller did not get is kept for the caller's retry. */
const KEPT_MS = 5 * MINUTE;
/** In which so many requests of a run may begin, and no more: a run that asks and asks must not bury its owner. */
const BOUND_MS = 5 * MINUTE;
const MOST = 256;
/** How long a waiter counts without a word of its own: so much later it shows that a function was killed. */
const LEASE_MS = 15_000;
/** How often it says so: late by a whole pause and a slow database, it still counts. */
const RENEW_MS = 5_000;

export function answerBy(now: Date): Date {
  return later(now, ANSWER_MS);
}

export function leaseUntil(now: Date): Date {
  return later(now, LEASE_MS);
}

/** When a waiter looks again, at the latest. */
export function renewAt(now: Date): Date {
  return later(now, RENEW_MS);
}

/** What holds for a request that is made at `now`. */
export function requestBounds(now: Date): {
  readonly keptSince: Date;
  readonly since: Date;
  readonly most: number;
} {
  return { keptSince: later(now, -KEPT_MS), since: later(now, -BOUND_MS), most: MOST };
}

function later(now: Date, milliseconds: number): Date {
  return new Date(now.getTime() + milliseconds);
}
