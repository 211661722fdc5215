import type { Clock } from '#core/ports/clock.ts';

/** A clock that stands still until it is told to move. */
export interface PinnedClock extends Clock {
  /** Moves on by so many milliseconds; back, if negative. */
  advance(milliseconds: number): void;
}

export function pinnedClock(start: Date): PinnedClock {
  let now = start.getTime();
  return {
    now: () => new Date(now),
    advance(milliseconds) {
      now += milliseconds;
    },
  };
}
