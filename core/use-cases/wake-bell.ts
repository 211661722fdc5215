import type { WakingClock } from '../ports/clock.ts';

/** What somebody who waits is woken by. */
export interface WakeBell {
  /** Wakes who waits, or, where nobody does, who waits next: no ring is lost between a look and the wait after it. */
  readonly ring: () => void;
  /** Resolves once it has rung since the last time, or at `at`. */
  until(at: Date): Promise<void>;
  /** Lets go of the signals. */
  close(): void;
}

/** A bell that also rings when one of the signals is aborted. For one who waits at a time. */
export function createWakeBell(
  clock: WakingClock,
  signals: readonly (AbortSignal | undefined)[] = [],
): WakeBell {
  let rung = signals.some((signal) => signal?.aborted);
  let waiting: AbortController | undefined;
  const ring = () => {
    rung = true;
    waiting?.abort();
  };
  for (const signal of signals) signal?.addEventListener('abort', ring);
  return {
    ring,
    async until(at) {
      if (!rung) {
        waiting = new AbortController();
        await clock.until(at, waiting.signal);
        waiting = undefined;
      }
      rung = false;
    },
    close() {
      for (const signal of signals) signal?.removeEventListener('abort', ring);
    },
  };
}
