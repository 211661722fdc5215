import type { NewEvent } from '../runs/timeline.ts';

export type EndReason = 'stopped' | 'expired' | 'max_lifetime' | 'orphaned';

/** The record of an ended preview, so that its URL answers 410 and not 404. */
export interface Tombstone {
  /** 64 hex digits. The token itself is not stored. */
  readonly tokenSha256: string;
  readonly runId: string;
  /**
   * Port of a preview that visitors may start again.
   * @default - it starts again only by a call of the API
   */
  readonly targetPort?: number | undefined;
  readonly reason: EndReason;
  readonly at: Date;
}

export interface PreviewRecords {
  /** How often this run's port has been stopped explicitly, from 0. */
  generation(runId: string, targetPort: number): Promise<number>;
  /**
   * In one transaction: increments the generation if it still is `from`, writes the tombstone in
   * any case, as `bury` does, and appends `appended` to the run's timeline. Returns the resulting
   * generation.
   */
  end(
    runId: string,
    targetPort: number,
    from: number,
    tombstone: Tombstone,
    appended?: readonly NewEvent[],
  ): Promise<number>;
  /** Writes or replaces tombstones; a `stopped` one is never replaced by a weaker reason. */
  bury(tombstones: readonly Tombstone[]): Promise<void>;
  tombstone(tokenSha256: string): Promise<Tombstone | undefined>;
  /** Finds it by the first hex digits of its hash. */
  tombstoneNamed(prefix: string): Promise<Tombstone | undefined>;
  /** The hashes among `tokenSha256s` that were stopped explicitly. */
  stoppedAmong(tokenSha256s: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Deletes tombstones older than `before`; returns how many. Those of expired previews with a
   * port stay while the sandbox of their run exists.
   */
  forget(before: Date): Promise<number>;
}
