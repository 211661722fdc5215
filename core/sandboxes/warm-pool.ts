import type { Owner } from '../shared/clock-and-ids.ts';
import type { SandboxOptions, SandboxRecord } from './sandbox-records.ts';

export interface WarmPoolConfig {
  /** Sandboxes to keep ready; 0: none. */
  readonly warmTarget: number;
  /** Milliseconds between two looks at them. */
  readonly refreshInterval: number;
  /** Most sandboxes that are to run, warm and assigned together; 0: no limit is known. */
  readonly maxInstances: number;
  /** Most that are made at once, 1–20. */
  readonly scaleBatchSize: number;
}

export interface WarmPoolStats {
  /** Ready, and nobody's yet. */
  readonly warm: number;
  /** Those of somebody. */
  readonly assigned: number;
  /** Both together. */
  readonly total: number;
  readonly config: WarmPoolConfig;
  /** Null: no limit is known. */
  readonly maxInstances: number | null;
}

/**
 * Sandboxes that are made before anybody asks for one, of the default image. Any number of
 * instances may keep one pool: none goes past its target for long, and each sandbox goes to one
 * owner, and never back. Failures are those of `Records` and `SandboxProvider`; a sandbox that
 * cannot be made is none: the next look tries again.
 */
export interface WarmPool {
  stats(signal?: AbortSignal): Promise<WarmPoolStats>;
  /**
   * Begins to keep the pool at its target, again after a `drain`. Where Porthole makes the
   * sandboxes itself, it resolves once that has been done as far as can be.
   */
  prime(signal?: AbortSignal): Promise<void>;
  /**
   * Replaces what died, removes what is too much, makes what is missing. Only after `prime`, and
   * not after `drain`.
   */
  refresh(): Promise<void>;
  /** Removes those that are nobody's, and makes no more until `prime`. */
  drain(signal?: AbortSignal): Promise<void>;
  /**
   * One that runs, as the owner's own, which counts as being created until its record says
   * otherwise; undefined where the pool has none, and where sandboxes come out of it by the
   * provider's own `create`. What is missing then is made in the background.
   */
  take(
    owner: Owner,
    signal?: AbortSignal,
    sandboxOptions?: SandboxOptions,
  ): Promise<SandboxRecord | undefined>;
  /** Ends what is going on in the background. The sandboxes stay: the next start keeps them. */
  close(): Promise<void>;
}

type Bounds = Pick<WarmPoolConfig, 'warmTarget' | 'maxInstances'>;

/**
 * How many are missing. @param pool sandboxes of the pool, those that are being made included
 * @param total all sandboxes that are to run, those of the pool included
 */
export function missingFromPool(pool: number, total: number, { warmTarget, maxInstances }: Bounds): number {
  const room = maxInstances === 0 ? Infinity : maxInstances - total;
  return Math.max(0, Math.min(warmTarget - pool, room));
}

/**
 * Those that are too many, which are the newest: whoever looks at the same time chooses the same
 * ones. @param pool oldest first
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
