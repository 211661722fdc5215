import type { Owner } from '#base/clock-and-ids.ts';
import type { SandboxOptions } from './sandbox-capacity.ts';
import type { SandboxRecord } from './sandbox-records.ts';

export interface WarmPoolConfig {
  /** Sandboxes to keep ready; 0: none. */
  readonly warmTarget: number;
  /** Milliseconds between two refreshes. */
  readonly refreshInterval: number;
  /** Most running sandboxes, warm and assigned together; 0: no limit is known. */
  readonly maxInstances: number;
  /** Most concurrent creations, 1–20. */
  readonly scaleBatchSize: number;
}

export interface WarmPoolStats {
  /** Ready, and not assigned. */
  readonly warm: number;
  /** Sandboxes with an owner. */
  readonly assigned: number;
  /** Both together. */
  readonly total: number;
  readonly config: WarmPoolConfig;
  /** Null: no limit is known. */
  readonly maxInstances: number | null;
}

/**
 * Sandboxes of the default image, created before they are requested. Instances may share one pool:
 * it exceeds its target only briefly, and each sandbox goes to one owner, and never back. Failures
 * are those of `Records` and `Sandboxes`; a failed creation is retried at the next refresh.
 */
export interface WarmPool {
  stats(signal?: AbortSignal): Promise<WarmPoolStats>;
  /**
   * Starts to keep the pool at its target, also after a `drain`. If Porthole creates the sandboxes
   * itself, resolves once the pool is at its target or cannot grow.
   */
  prime(signal?: AbortSignal): Promise<void>;
  /**
   * Replaces dead sandboxes, removes excess ones, creates missing ones. Does nothing before `prime`
   * and after `drain`.
   */
  refresh(): Promise<void>;
  /** Removes unassigned sandboxes, and creates no more until `prime`. */
  drain(signal?: AbortSignal): Promise<void>;
  /**
   * Assigns a running sandbox to the owner; it is `creating` until its record says otherwise,
   * unless `runsAtOnce`. Undefined if the pool is empty, or if the provider's own `create` takes
   * from it. Refills the pool in the background.
   */
  take(
    owner: Owner,
    signal?: AbortSignal,
    sandboxOptions?: SandboxOptions,
  ): Promise<SandboxRecord | undefined>;
  /** Ends background work. The sandboxes stay: the next start keeps them. */
  close(): Promise<void>;
}

type Bounds = Pick<WarmPoolConfig, 'warmTarget' | 'maxInstances'>;

/**
 * How many are missing. @param pool sandboxes of the pool, including those being created
 * @param total all sandboxes desired to run, including the pool
 */
export function missingFromPool(pool: number, total: number, { warmTarget, maxInstances }: Bounds): number {
  const room = maxInstances === 0 ? Infinity : maxInstances - total;
  return Math.max(0, Math.min(warmTarget - pool, room));
}

/**
 * The excess sandboxes, newest first to go: concurrent instances choose the same ones. @param pool
 * oldest first
 */
export function tooManyInPool<T>(
  pool: readonly T[],
  total: number,
  { warmTarget, maxInstances }: Bounds,
): readonly T[] {
  const past = maxInstances === 0 ? 0 : total - maxInstances;
  const excess = Math.max(0, pool.length - warmTarget, past);
  return pool.slice(Math.max(0, pool.length - excess));
}

/** The pool of a provider without pools: always empty. */
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
