import { setTimeout as pause } from 'node:timers/promises';
import type { WarmPool, WarmPoolConfig } from '#core/sandboxes/warm-pool.ts';

export const poolConfig = (change: Partial<WarmPoolConfig> = {}): WarmPoolConfig => ({
  warmTarget: 3,
  refreshInterval: 10_000,
  maxInstances: 0,
  scaleBatchSize: 5,
  ...change,
});

/** Resolves once this many are warm; fails after a generous timeout. */
export async function settled(pool: WarmPool, warm: number): Promise<void> {
  const until = performance.now() + 60_000;
  let seen = await pool.stats();
  while (seen.warm !== warm) {
    if (performance.now() > until) throw new Error(`not ${warm} warm: ${JSON.stringify(seen)}`);
    await pause(20);
    seen = await pool.stats();
  }
}
