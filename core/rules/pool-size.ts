import type { WarmPoolConfig } from '../ports/warm-pool.ts';

type Bounds = Pick<WarmPoolConfig, 'warmTarget' | 'maxInstances'>;

/** How many are missing. @param pool sandboxes of the pool, those that are being made included @param total all sandboxes that are to run, those of the pool included */
export function missingFromPool(pool: number, total: number, { warmTarget, maxInstances }: Bounds): number {
  const room = maxInstances === 0 ? Infinity : maxInstances - total;
  return Math.max(0, Math.min(warmTarget - pool, room));
}

/** Those that are too many, which are the newest: whoever looks at the same time chooses the same ones. @param pool oldest first */
export function tooManyInPool<T>(
  pool: readonly T[],
  total: number,
  { warmTarget, maxInstances }: Bounds,
): readonly T[] {
  const past = maxInstances === 0 ? 0 : total - maxInstances;
  const excess = Math.max(0, pool.length - warmTarget, past);
  return pool.slice(Math.max(0, pool.length - excess));
}
