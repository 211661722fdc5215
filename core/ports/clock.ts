/** The time, so that every rule can be tested at a pinned instant. */
export interface Clock {
  now(): Date;
}

/** A clock that can be waited for, so that a wait can be tested at a pinned instant as well. */
export interface WakingClock extends Clock {
  /** Resolves once `now()` has reached `at`, or `signal` is aborted, whichever comes first; at once where either is so already. */
  until(at: Date, signal?: AbortSignal): Promise<void>;
}
