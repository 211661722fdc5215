import type { WakingClock } from './clock-and-ids.ts';

/** What somebody who waits is woken by. */
export interface WakeSignal {
  /**
   * Wakes who waits, or, where nobody does, who waits next: no ring is lost between a look and the
   * wait after it.
   */
  readonly notify: () => void;
  /** Resolves once it has rung since the last time, or at `at`. */
  until(at: Date): Promise<void>;
  /** Lets go of the signals. */
  close(): void;
}

/** A bell that also rings when one of the signals is aborted. For one who waits at a time. */
export function createWakeSignal(
  clock: WakingClock,
  signals: readonly (AbortSignal | undefined)[] = [],
): WakeSignal {
  let rung = signals.some((signal) => signal?.aborted);
  let waiting: AbortController | undefined;
  const notify = () => {
    rung = true;
    waiting?.abort();
  };
  for (const signal of signals) signal?.addEventListener('abort', notify);
  return {
    notify,
    async until(at) {
      if (!rung) {
        waiting = new AbortController();
        await clock.until(at, waiting.signal);
        waiting = undefined;
      }
      rung = false;
    },
    close() {
      for (const signal of signals) signal?.removeEventListener('abort', notify);
    },
  };
}
