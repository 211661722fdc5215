import type { Sharing } from '#protocol/settings/shared-values.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { ListFilter, Page, PageRequest } from '#base/reads.ts';
import type { NewEvent } from './timeline.ts';

export interface RunRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly title: string | null;
  readonly sandboxId: string;
  readonly autoApproveTools: boolean;
  readonly sharing: Sharing;
  readonly status: 'running' | 'completed';
  /** The key that this run's preview tokens are derived with. */
  readonly tokenKid: string;
  /** Counts the rotations of its agent token: only the token of this version is valid. */
  readonly tokenVersion: number;
  readonly createdAt: Date;
  readonly completedAt: Date | null;
}

/** Filters of a list of runs. `tags` and `image` are those of the run's sandbox. */
export interface RunFilter extends ListFilter {
  readonly status?: RunRecord['status'] | undefined;
  readonly sandboxId?: string | undefined;
  /** Only runs of others that are shared with this person's organisation. */
  readonly sharedWith?: Owner | undefined;
}

/** Who owns runs, and how many of them. */
export interface RunOwner {
  readonly owner: Owner;
  readonly runs: number;
  /** Those that run. */
  readonly active: number;
  /** When the newest was created. */
  readonly lastAt: Date;
}

/** Orders of a list of runs. */
export const RUN_SORTS = ['newest', 'oldest', 'title'] as const;
export type RunSort = (typeof RUN_SORTS)[number];

export interface RunRecords {
  /**
   * Inserts it with its timeline's first events, in one transaction. `internal_error`, and nothing
   * changed, if the id exists: ids are fresh.
   * @param most active runs of its owner, counted in the same transaction
   * @returns false, and nothing changed, if the owner has that many already
   */
  create(run: RunRecord, events?: readonly NewEvent[], most?: number | null): Promise<boolean>;
  /** How many runs of the owner are active. */
  countActive(owner: Owner): Promise<number>;
  get(id: string): Promise<RunRecord | undefined>;
  /**
   * Of one owner, or of all owners if `owner` is undefined. `invalid_request` on a limit out of
   * range and on an `after` of another order.
   * @param sort default: newest first
   */
  list(
    owner: Owner | undefined,
    page: PageRequest,
    filter?: RunFilter,
    sort?: RunSort,
  ): Promise<Page<RunRecord>>;
  /** How many `list` has, at most `MAX_TOTAL`. */
  count(owner: Owner | undefined, filter?: RunFilter): Promise<number>;
  /**
   * Owners of runs, `most` at most: that of the newest run first.
   * @param viewer only runs of this person, and those shared with the person's organisation
   */
  owners(viewer: Owner | undefined, most: number): Promise<readonly RunOwner[]>;
  /**
   * Marks it completed at `at` if it runs, withdraws its pending approvals and appends the events.
   * Returns the resulting record, with the time of the first completion.
   */
  complete(id: string, at: Date, appended?: readonly NewEvent[]): Promise<RunRecord | undefined>;
  /**
   * Shares it so and appends the events, and wakes the watchers of the run, unless it is shared so
   * already. Returns the resulting record.
   */
  share(
    id: string,
    sharing: Sharing,
    at: Date,
    appended?: readonly NewEvent[],
  ): Promise<RunRecord | undefined>;
  /** The widest sharing of the owner's runs in the sandbox. */
  sharingIn(sandboxId: string, owner: Owner): Promise<Sharing>;
  /** Increments `tokenVersion`. Undefined, and nothing changed, if the run is not running. */
  rotateToken(id: string): Promise<RunRecord | undefined>;
  /** The ids among `ids` of completed runs. */
  completedAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** The ids of a sandbox's runs, oldest first. */
  inSandbox(sandboxId: string): Promise<readonly string[]>;
}
