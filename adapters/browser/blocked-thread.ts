import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';

/** Script time of one task, in milliseconds, that counts as a blocked thread. */
const LONG_SCRIPT_MS = 4_000;
const LONG_THREAD_MS = 2_000;
/** Load per processor above which a script may be waiting for the processor. */
const BUSY_MACHINE = 5;
const ANSWER_MS = 1_000;

interface Spent {
  readonly scriptMs: number;
  readonly threadMs: number;
}

/**
 * Measures a main thread while it does not answer. V8 answers for a script that runs (DevTools
 * interrupts it), so an answer to this, and to nothing else, says that a script blocks the thread.
 */
export class ThreadWatch {
  readonly #cdp: CDPSession;
  #before: Spent | undefined;

  constructor(cdp: CDPSession) {
    this.#cdp = cdp;
    void this.#spent().then((spent) => (this.#before = spent));
  }

  /**
   * Whether a script has held the thread since the watch began. At a second try it may have had
   * less of the processor: a script that only waits for its turn ends in one of both.
   */
  async isBlocked(isSecondTry: boolean): Promise<boolean> {
    const now = await Promise.race([this.#spent(), pause(ANSWER_MS, undefined, { ref: false })]);
    if (now === undefined) return false;
    const { scriptMs, threadMs } = this.#before ?? { scriptMs: 0, threadMs: 0 };
    const isBusy = (loadavg()[0] ?? 0) / availableParallelism() >= BUSY_MACHINE;
    const hadItsTurn = !isBusy || isSecondTry || now.threadMs - threadMs >= LONG_THREAD_MS;
    return now.scriptMs - scriptMs >= LONG_SCRIPT_MS && hadItsTurn;
  }

  async #spent(): Promise<Spent | undefined> {
    try {
      const { metrics } = await this.#cdp.send('Performance.getMetrics');
      const of = (name: string) => (metrics.find((each) => each.name === name)?.value ?? 0) * 1_000;
      return { scriptMs: of('ScriptDuration'), threadMs: of('ThreadTime') };
    } catch {
      // The page has closed.
      return undefined;
    }
  }
}
