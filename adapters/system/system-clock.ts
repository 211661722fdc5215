import type { WakingClock } from '#core/ports/clock.ts';

/** The longest that a timer of Node can be set to, in milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: WakingClock = {
  now: () => new Date(),

  async until(at, signal) {
    for (;;) {
      const left = at.getTime() - Date.now();
      if (left <= 0 || signal?.aborted === true) return;
      // Timers fire up to a millisecond early, and stand still while the machine sleeps: the clock has the last word.
      await pause(Math.min(left, LONGEST_TIMER_MS), signal);
    }
  },
};

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}
