import { setTimeout as pause } from 'node:timers/promises';
import { PortholeError } from '../errors.ts';

/** Tries in a row, and the waits between them, in milliseconds. */
const TRIES = 3;
const WAIT_MS = 100;

/**
 * Tries are repeated only within this time, in milliseconds, so that a caller never waits several
 * times for a connection that times out.
 */
const WITHIN_MS = 10_000;

/** Whether the connection to the sandbox broke: the same read may succeed the next time. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof PortholeError && error.code === 'exec_transport_error';
}

/**
 * Runs a read of a sandbox again where the connection to it breaks. Only for work that changes
 * nothing.
 */
export async function readAgain<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const startedAt = performance.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      const isLast = tries === TRIES || performance.now() - startedAt > WITHIN_MS;
      if (isLast || signal?.aborted || !isConnectionLost(error)) throw error;
    }
    await pause(WAIT_MS * tries, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}
