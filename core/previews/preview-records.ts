import type { NewEvent } from '../runs/timeline.ts';

export type EndReason = 'stopped' | 'expired' | 'max_lifetime' | 'orphaned';

/** What remains of an ended preview, so that its URL answers 410 and not 404. */
export interface Tombstone {
  /** 64 hex. The token itself is not kept. */
  readonly tokenSha256: string;
  readonly runId: string;
  readonly reason: EndReason;
  readonly at: Date;
}

export interface PreviewRecords {
  /** How often this run's port has been stopped explicitly: 0 at first. */
  generation(runId: string, targetPort: number): Promise<number>;
  /**
   * In one transaction: moves the generation from `from` to `from + 1`, if it still is `from`, and
   * leaves the tombstone in any case, as `bury` does, and tells the run what is `told`. Returns the
   * generation that then stands.
   */
  end(
    runId: string,
    targetPort: number,
    from: number,
    tombstone: Tombstone,
    appended?: readonly NewEvent[],
  ): Promise<number>;
  /** Leaves or replaces tombstones; a `stopped` one is never replaced by a weaker reason. */
  bury(tombstones: readonly Tombstone[]): Promise<void>;
  tombstone(tokenSha256: string): Promise<Tombstone | undefined>;
  /** The hashes among `tokenSha256s` that were stopped explicitly. */
  stoppedAmong(tokenSha256s: readonly string[]): Promise<ReadonlySet<string>>;
  /** Forgets tombstones older than `before`; says how many. */
  forget(before: Date): Promise<number>;
}
