import type { Owner } from '#base/clock-and-ids.ts';
import type { SandboxSize } from './sandbox-provider.ts';
import type { Quota, Usage } from './sandbox-quotas.ts';
import type { NewSandboxRecord, SandboxKey, SandboxRecord } from './sandbox-records.ts';

/** The result of reserving a sandbox. */
export type Reservation =
  | { readonly kind: 'reserved'; readonly sandbox: SandboxRecord }
  /** The owner has a sandbox with that session key, or that name; nothing changed. */
  | { readonly kind: 'same_session'; readonly sandbox: SandboxRecord }
  | { readonly kind: 'same_name'; readonly sandbox: SandboxRecord }
  | { readonly kind: 'id_taken' }
  /** The owner would exceed the quota; nothing changed. */
  | { readonly kind: 'over_quota'; readonly used: Usage };

/** An owner's quota, and the size that counts for a sandbox that requests none. */
export interface QuotaLimits {
  readonly quota: Quota;
  readonly defaultSize: SandboxSize;
}

/** The fields that a pooled sandbox gets when it is taken. */
export interface SandboxOptions
  extends Pick<SandboxRecord, 'sessionKey' | 'name' | 'tags' | 'env' | 'resources'>,
    Partial<
      Pick<
        SandboxRecord,
        'ttlSeconds' | 'timeoutAt' | 'onTimeout' | 'deleteWithThread' | 'skills' | 'network'
      >
    > {
  /** Whether it is `running` at once, not `creating`: nothing is left to be done in it. */
  readonly runsAtOnce?: boolean | undefined;
  /** Undefined: no limit. */
  readonly quotaLimits?: QuotaLimits | undefined;
}

/** The records of sandboxes, as quotas and warm pools count and hand them out. */
export interface SandboxCapacity {
  /**
   * Inserts it as `SandboxRecords.create` does, unless its owner has one with that session key or
   * name, or would exceed the quota. Counts and inserts in one transaction, so that concurrent
   * requests cannot bypass either check.
   */
  reserve(sandbox: NewSandboxRecord, quotaLimits?: QuotaLimits): Promise<Reservation>;
  /** An owner's usage, as quotas count it. */
  usage(owner: Owner, defaultSize: SandboxSize): Promise<Usage>;
  /**
   * Sets the desired state of a stopped sandbox to `running` at `at`, restarts its ttl and counts
   * it, in one transaction. `unchanged` if its desired state was not `stopped`, or the generation
   * differs; the owner's usage if the quota would be exceeded.
   */
  wake(sandbox: SandboxKey, at: Date, quotaLimits?: QuotaLimits): Promise<'woken' | 'unchanged' | Usage>;
  /**
   * One owner's sandboxes in an installation that are desired to run and not observed destroyed,
   * oldest first, at most 1000.
   */
  wantedBy(owner: Owner, place: string): Promise<readonly SandboxRecord[]>;
  /** How many in an installation are desired to run and not observed destroyed. */
  countWanted(place: string): Promise<number>;
  /**
   * Transfers the oldest sandbox of `from` in the installation that is desired and observed to run,
   * or the one with `id`, to `to`, created at `at`: it is `creating` again unless `runsAtOnce`.
   * Concurrent callers get different sandboxes. Undefined if none is left, or if `reserve` would
   * refuse `sandboxOptions`.
   */
  takeWarm(
    place: string,
    from: Owner,
    to: Owner,
    at: Date,
    options?: { readonly id?: string | undefined; readonly sandboxOptions?: SandboxOptions | undefined },
  ): Promise<SandboxRecord | undefined>;
}
