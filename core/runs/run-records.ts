import type { Owner } from '../shared/clock-and-ids.ts';
import type { Page, PageRequest } from '../shared/reads.ts';
import type { NewEvent } from './timeline.ts';

export interface RunRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly title: string | null;
  readonly sandboxId: string;
  readonly autoApproveTools: boolean;
  readonly status: 'running' | 'completed';
  /** The key that this run's preview tokens are derived with. */
  readonly tokenKid: string;
  /** Counts the rotations of its agent token: only the token of this version is valid. */
  readonly tokenVersion: number;
  readonly createdAt: Date;
  readonly completedAt: Date | null;
}

export interface RunRecords {
  /**
   * With its timeline's first events, in one transaction. `internal_error`, and nothing changed,
   * when the id is taken: ids are fresh, so that is a mistake.
   * @param most of its owner's active runs: counted and inserted in one transaction
   * @returns false, and nothing changed, if the owner has that many already
   */
  create(run: RunRecord, events?: readonly NewEvent[], most?: number | null): Promise<boolean>;
  /** How many runs of the owner are active. */
  countActive(owner: Owner): Promise<number>;
  get(id: string): Promise<RunRecord | undefined>;
  /**
   * Newest first; of one owner, or of everybody when `owner` is undefined. `invalid_request` on a
   * limit out of range and on an `after` that no page gave.
   */
  list(owner: Owner | undefined, page: PageRequest): Promise<Page<RunRecord>>;
  /**
   * Marks it completed at `at` if it runs, withdraws the approvals that wait in it, and then tells
   * that; returns the record as it then stands, with the first completion's time.
   */
  complete(id: string, at: Date, appended?: readonly NewEvent[]): Promise<RunRecord | undefined>;
  /** Counts `tokenVersion` up. Undefined, and nothing changed, if the run does not run. */
  rotateToken(id: string): Promise<RunRecord | undefined>;
  /** The ids among `ids` whose run has completed. */
  completedAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** The ids of the runs that work in a sandbox, in their order. */
  inSandbox(sandboxId: string): Promise<readonly string[]>;
}
