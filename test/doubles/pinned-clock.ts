import type { WakingClock } from '#base/clock-and-ids.ts';

/** A clock that advances only on request. */
export interface PinnedClock extends WakingClock {
  /** Advances by these milliseconds and wakes the waits that are due; moves back if negative. */
  advance(milliseconds: number): void;
  /** Number of waits for a later time. */
  readonly sleepers: number;
}

export function pinnedClock(start: Date): PinnedClock {
  let now = start.getTime();
  const sleepers = new Map<() => void, number>();
  return {
    now: () => new Date(now),
    until: (at, signal) =>
      new Promise((resolve) => {
        const wake = () => {
          sleepers.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        sleepers.set(wake, at.getTime());
        signal?.addEventListener('abort', wake);
        if (at.getTime() <= now || signal?.aborted === true) wake();
      }),
    advance(milliseconds) {
      now += milliseconds;
      for (const [wake, at] of sleepers) if (at <= now) wake();
    },
    get sleepers() {
      return sleepers.size;
    },
  };
}
