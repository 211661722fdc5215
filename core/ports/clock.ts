/** The time, so that every rule can be tested at a pinned instant. */
export interface Clock {
  now(): Date;
}
