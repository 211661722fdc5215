import type { WarmPool, WarmPoolConfig } from '../../ports/warm-pool.ts';

/** The pool of a provider that can keep none: it is empty, whatever is asked of it. */
export function noPool(config: WarmPoolConfig): WarmPool {
  const done = () => Promise.resolve();
  return {
    stats: () =>
      Promise.resolve({ warm: 0, assigned: 0, total: 0, config, maxInstances: config.maxInstances || null }),
    prime: done,
    refresh: done,
    drain: done,
    take: () => Promise.resolve(undefined),
    close: done,
  };
}
