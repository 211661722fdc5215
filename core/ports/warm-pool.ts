import type { Owner } from './owner.ts';
import type { SandboxRecord, SandboxOptions } from './sandbox-records.ts';

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
 * Sandboxes that are made before anybody asks for one, of the default image. Any number of instances may keep one pool: none goes past its target for long, and each
 * sandbox goes to one owner, and never back. Failures are those of `Records` and `SandboxProvider`; a sandbox that cannot be made is none: the next look tries again.
 */
export interface WarmPool {
  stats(signal?: AbortSignal): Promise<WarmPoolStats>;
  /** Begins to keep the pool at its target, again after a `drain`. Where Porthole makes the sandboxes itself, it resolves once that has been done as far as can be. */
  prime(signal?: AbortSignal): Promise<void>;
  /** Replaces what died, removes what is too much, makes what is missing. Only after `prime`, and not after `drain`. */
  refresh(): Promise<void>;
  /** Removes those that are nobody's, and makes no more until `prime`. */
  drain(signal?: AbortSignal): Promise<void>;
  /**
   * One that runs, as the owner's own, which counts as being created until its record says otherwise; undefined where the pool has none, and where sandboxes come out of it
   * by the provider's own `create`. What is missing then is made in the background.
   */
  take(
    owner: Owner,
    signal?: AbortSignal,
    sandboxOptions?: SandboxOptions,
  ): Promise<SandboxRecord | undefined>;
  /** Ends what is going on in the background. The sandboxes stay: the next start keeps them. */
  close(): Promise<void>;
}
