import { setTimeout as delay } from 'node:timers/promises';
import { isBusy } from './sqlite-errors.ts';

/** The longest pause between two looks at a busy file, in milliseconds. */
const LONGEST_PAUSE_MS = 25;

/**
 * Goes on trying `work`, one statement, while another connection holds the file, up to `timeoutMs`. SQLite's own busy
 * timeout would sleep in the calling thread: the whole server would stand still, and nothing could end when
 * the lock's holder is another instance in the same process. So that one is off, and this one waits.
 */
export async function whileBusy<T>(timeoutMs: number, work: () => T): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    // Random, so that those who wait together do not come back together.
    await delay(pause * (0.5 + Math.random() / 2));
  }
}
