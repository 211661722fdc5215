import type { WakingClock } from '#base/clock-and-ids.ts';
import { pinnedClock as pinnedAt } from '#test/doubles/pinned-clock.ts';

/** A clock that advances only on request. */
export interface PinnedClock extends WakingClock {
  /** Number of waits for a later time. */
  readonly sleepers: number;
  advance(by: { readonly minutes?: number; readonly hours?: number; readonly seconds?: number }): void;
}

/** Starts at 2030-03-01T12:00:00Z. */
export function pinnedClock(): PinnedClock {
  const clock = pinnedAt(new Date('2030-03-01T12:00:00.000Z'));
  return {
    now: clock.now,
    until: clock.until,
    get sleepers() {
      return clock.sleepers;
    },
    advance: ({ hours = 0, minutes = 0, seconds = 0 }) =>
      clock.advance(((hours * 60 + minutes) * 60 + seconds) * 1_000),
  };
}
