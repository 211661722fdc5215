import type { Clock } from '#core/ports/clock.ts';

/** A clock that stands still until it is told to go on. */
export interface PinnedClock extends Clock {
  advance(by: { readonly minutes?: number; readonly hours?: number; readonly seconds?: number }): void;
}

/** Stands at 2030-03-01T12:00:00Z. */
export function pinnedClock(): PinnedClock {
  let now = Date.UTC(2030, 2, 1, 12);
  return {
    now: () => new Date(now),
    advance({ hours = 0, minutes = 0, seconds = 0 }) {
      now += ((hours * 60 + minutes) * 60 + seconds) * 1_000;
    },
  };
}
