/**
 * Resolves after this many milliseconds; rejects with the signal's reason as soon as that aborts.
 * @param idle it does not keep the process alive
 */
export function wait(ms: number, signal?: AbortSignal, idle?: 'idle'): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    // Browsers have numbers for timers.
    if (idle === 'idle') (timer as { unref?: () => void }).unref?.();
    signal?.addEventListener('abort', abort, { once: true });
    return undefined;
  });
}
