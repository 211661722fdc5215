import type { WarmPoolStats } from '#core/ports/warm-pool.ts';
import type { Services } from './services.ts';

/** The scheduled function that keeps the pool of sandboxes at its target, where others make them. Runs every minute; two at once do no harm. */
export async function primePool(
  { pool }: Pick<Services, 'pool'>,
  signal?: AbortSignal,
): Promise<WarmPoolStats> {
  await pool.prime(signal);
  return pool.stats(signal);
}
