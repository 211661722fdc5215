/** Why the signal of something that is over is aborted. Made once: nobody reads it, and each error costs a look at the stack. */
const OVER = new Error('it is over');

/**
 * Does a task that must end within so many milliseconds, or when the signal aborts. Its own signal aborts then, with the signal's reason or a `TimeoutError`; and
 * once the task is over, so that nothing which it has left running goes on. Leaves no timer behind, as `AbortSignal.timeout` does.
 */
export async function within<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  task: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const limit = new AbortController();
  const abort = (): void => limit.abort(signal?.reason);
  const late = (): void => limit.abort(new DOMException(`not within ${milliseconds} ms`, 'TimeoutError'));
  const timer = setTimeout(late, milliseconds);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await task(limit.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    limit.abort(OVER);
  }
}
