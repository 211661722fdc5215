import type { WakingClock } from './clock-and-ids.ts';

/** Wakes one waiting task. */
export interface WakeSignal {
  /** Wakes the waiter, or the next one: no notification is lost between a read and a wait. */
  readonly notify: () => void;
  /** Resolves at the first notification since the last wait, or at `at`. */
  until(at: Date): Promise<void>;
  /** Removes its listeners from the signals. */
  close(): void;
}

/** A wake signal that also notifies when one of the signals is aborted. One waiter at a time. */
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
