import { setTimeout as pause } from 'node:timers/promises';

export interface RetryOptions {
  /**
   * Milliseconds until the next try; undefined: the error is thrown. `tries` have failed, from 1.
   */
  readonly delay: (error: unknown, tries: number) => number | undefined;
  /** Milliseconds after the first try in which others begin. @default unlimited */
  readonly withinMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Repeats work that fails, until it succeeds or its error is final. An aborted signal rejects with
 * its own reason.
 */
export async function retry<T>(
  work: () => T | Promise<T>,
  { delay, withinMs = Infinity, signal }: RetryOptions,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      const ms = delay(error, tries);
      if (ms === undefined || performance.now() + ms >= deadline) throw error;
      if (ms > 0) await pause(ms, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}
