import type { WarmPoolStats } from '#core/sandboxes/warm-pool.ts';
import { primePool } from '#handlers/ops/scheduled.ts';
import type { OpenFunction } from './open-function.ts';
import { scheduledFunction } from './scheduled-function.ts';

/** Primes the pool of sandboxes for each event. */
export function warmPoolFunction(
  open: () => Promise<OpenFunction>,
): (event?: unknown) => Promise<WarmPoolStats> {
  return scheduledFunction(open, (services) => primePool(services));
}
