import type { Owner } from '../shared/clock-and-ids.ts';
import type { Page, PageRequest } from '../shared/reads.ts';

export type ToolLanguage = 'python' | 'node';

/** JSON, as it was read. */
export type JsonValue = unknown;
export type JsonObject = Readonly<Record<string, JsonValue>>;

/** All that a tool is at a time: its versions, its draft and each snapshot have it. */
export interface ToolSource {
  /** Name of the function, or `module:function`. */
  readonly entrypoint: string;
  readonly sourceCode: string;
  readonly language: ToolLanguage;
  /** What `inputs` must fit; null: any JSON. */
  readonly inputSchema: JsonObject | null;
  readonly settingsSchema: JsonObject | null;
  readonly usageInstructions: string;
}

export interface ToolRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly name: string;
  readonly createdAt: Date;
}

export interface ToolVersionRecord extends ToolSource {
  readonly id: string;
  readonly toolId: string;
  /** 1 for a tool's first, one more for each that follows. */
  readonly number: number;
  readonly createdAt: Date;
  readonly createdBy: string;
}

export type NewToolVersion = Omit<ToolVersionRecord, 'number'>;

/** Who alone may change the draft and run it, until when. */
export interface DraftLock {
  readonly holder: Owner;
  /** 64 hex. The token itself is not kept. */
  readonly tokenSha256: string;
  readonly expiresAt: Date;
}

/** What a tool is about to become: its one draft head. */
export interface DraftRecord extends ToolSource {
  readonly toolId: string;
  /** The version that it was made from. */
  readonly versionId: string;
  /** One more with each change. */
  readonly revision: number;
  readonly updatedAt: Date;
  readonly updatedBy: string;
  /** The last one that was taken and not released: it may be over. */
  readonly lock: DraftLock | null;
}

export type DraftChange = Partial<ToolSource & Pick<DraftRecord, 'versionId'>>;

/** The very code and schemas that a run ran, kept for the actions that follow it. */
export interface SnapshotRecord extends ToolSource {
  readonly id: string;
  readonly toolId: string;
  readonly versionId: string;
  readonly owner: Owner;
  /** Of the payload that was sent, in its canonical form; 0 where none was. */
  readonly payloadBytes: number;
  /** What the last run left for the next one; null: nothing. */
  readonly state: JsonValue;
  /** Where its session files are; null before its first run. */
  readonly sandboxId: string | null;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly expiresAt: Date;
}

/**
 * What a person can do next with a result: `id` is what starts it, the rest is between the tool and
 * who shows it.
 */
export interface NextAction {
  readonly id: string;
  readonly [more: string]: JsonValue;
}

export interface ToolRunError {
  readonly code: ToolRunErrorCode;
  readonly message: string;
  /** The tool's own frames; null where there are none. */
  readonly traceback: string | null;
}

export type ToolRunErrorCode =
  | 'code_error'
  | 'bad_entrypoint'
  | 'bad_result'
  | 'no_result'
  | 'timed_out'
  | 'too_much_output'
  | 'no_interpreter'
  | 'sandbox_failed'
  | 'interrupted';

/** What became of a run. */
export interface ToolRunOutcome {
  readonly status: 'succeeded' | 'failed';
  readonly outputs: JsonValue;
  readonly nextActions: readonly NextAction[];
  readonly error: ToolRunError | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolRunRecord extends Omit<ToolRunOutcome, 'status'> {
  readonly id: string;
  readonly toolId: string;
  readonly versionId: string;
  /** Kept with its expiry for longer than the snapshot itself. */
  readonly snapshotId: string;
  readonly snapshotExpiresAt: Date;
  readonly owner: Owner;
  /** Null for a run; the action that was started, and the run that offered it. */
  readonly actionId: string | null;
  readonly parentRunId: string | null;
  readonly inputs: JsonValue;
  readonly status: 'running' | 'succeeded' | 'failed';
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly endedAt: Date | null;
  /** One that still runs by then was cut off. */
  readonly deadline: Date;
}

/** A run among others: without what it was given, gave and said, which is megabytes. */
export type ToolRunSummary = Omit<ToolRunRecord, 'inputs' | 'outputs' | 'nextActions' | 'stdout' | 'stderr'>;

export type NewToolRun = Omit<ToolRunRecord, keyof ToolRunOutcome | 'endedAt'>;

/** What came of a change that needs the lock. */
export type DraftSaving =
  | { readonly kind: 'saved'; readonly draft: DraftRecord }
  /** The token is not that of the active lock; nothing changed. */
  | { readonly kind: 'not_locked'; readonly draft: DraftRecord }
  /** Another revision stands; nothing changed. */
  | { readonly kind: 'stale'; readonly draft: DraftRecord };

/** What one owner may have at a time. */
export interface RunBounds {
  /** Under way. */
  readonly runs: number;
  /**
   * Of source and state of all snapshots that are not over. An action may bring its state beyond;
   * then nothing more begins.
   */
  readonly snapshotBytes: number;
}

export type ToolRemoval =
  | { readonly kind: 'removed' }
  /** Somebody else holds the lock; nothing changed. */
  | { readonly kind: 'not_locked'; readonly draft: DraftRecord };

export type RunBeginning =
  | { readonly kind: 'begun' }
  | { readonly kind: 'not_locked'; readonly draft: DraftRecord }
  /** Another run of the same snapshot is under way. */
  | { readonly kind: 'busy'; readonly runId: string }
  /** The owner has so many under way. */
  | { readonly kind: 'too_many'; readonly running: number }
  /** The owner's snapshots that are not over would have so many bytes, this one included. */
  | { readonly kind: 'full'; readonly bytes: number }
  /** The snapshot has expired, or is gone. */
  | { readonly kind: 'expired' };

/** Which lock somebody claims to hold, and when. */
export interface LockClaim {
  readonly toolId: string;
  readonly tokenSha256: string;
  readonly at: Date;
}

/**
 * Tools, their versions, their one draft each, what was run of them and the snapshots that was run
 * from. Every method is one transaction.
 */
export interface EditorRecords {
  /** With its first version, which is the draft too. */
  createTool(tool: ToolRecord, version: NewToolVersion): Promise<void>;
  tool(id: string): Promise<ToolRecord | undefined>;
  /** Newest first; of one owner, or of everybody when `owner` is undefined. */
  tools(owner: Owner | undefined, page: PageRequest): Promise<Page<ToolRecord>>;
  /** False for an unknown tool. */
  renameTool(id: string, name: string): Promise<boolean>;
  /**
   * Removes a tool with all that is of it, unless somebody else than `claim` holds the lock; its
   * snapshots are over from `claim.at` on. Undefined for an unknown tool.
   */
  removeTool(claim: LockClaim): Promise<ToolRemoval | undefined>;
  /** Gives it the tool's next number. Undefined for an unknown tool. */
  addVersion(version: NewToolVersion): Promise<ToolVersionRecord | undefined>;
  version(id: string): Promise<ToolVersionRecord | undefined>;
  /** Newest first. */
  versions(toolId: string, page: PageRequest): Promise<Page<ToolVersionRecord>>;
  draft(toolId: string): Promise<DraftRecord | undefined>;
  /** @param revision which must stand; undefined: any */
  saveDraft(
    claim: LockClaim,
    change: DraftChange,
    by: string,
    revision?: number,
  ): Promise<DraftSaving | undefined>;
  /**
   * Takes the lock where none is active at `at`, or where `over` says that this one may be taken
   * over. Of any number who try at once one gets it. Returns the lock that stands then.
   * @param over from whom an active lock may be taken: its own holder, or whoever it is
   */
  takeLock(toolId: string, lock: DraftLock, at: Date, over?: 'own' | 'any'): Promise<DraftLock | undefined>;
  /** False when the token is not that of the active lock. */
  renewLock(claim: LockClaim, expiresAt: Date): Promise<boolean>;
  /** Releases it, be it over or not; false where it is another's. */
  releaseLock(claim: Omit<LockClaim, 'at'>): Promise<boolean>;
  /**
   * Records the run as running, and its snapshot where that is new, if the lock is held, nothing
   * else of the snapshot runs, and its owner stays within `most`.
   * @param snapshot undefined: `run.snapshotId` must be there and not over
   */
  beginRun(
    claim: LockClaim,
    run: NewToolRun,
    snapshot: SnapshotRecord | undefined,
    most: RunBounds,
  ): Promise<RunBeginning>;
  /**
   * Ends a run that is running; false where it has ended already, and then nothing changes. `kept`
   * goes to its snapshot.
   */
  endRun(
    id: string,
    outcome: ToolRunOutcome,
    at: Date,
    kept?: { readonly sandboxId?: string | undefined; readonly state?: JsonValue },
  ): Promise<boolean>;
  run(id: string): Promise<ToolRunRecord | undefined>;
  /** Newest first. */
  runs(toolId: string, page: PageRequest): Promise<Page<ToolRunSummary>>;
  /**
   * Runs that are past their deadline at `now` end as failed with this error; says how many, at
   * most `limit`.
   */
  failOverdue(now: Date, error: ToolRunError, limit: number): Promise<number>;
  /**
   * Removes runs that have ended, whose snapshots were over at `before`, oldest first; says how
   * many, at most `limit`.
   */
  removeRuns(before: Date, limit: number): Promise<number>;
  /** The snapshots of which a run of this owner is under way. */
  snapshotsUnderWay(owner: Owner, now: Date): Promise<ReadonlySet<string>>;
  snapshot(id: string): Promise<SnapshotRecord | undefined>;
  /** The ids of snapshots that are over at `now` and have no run under way, oldest first. */
  expiredSnapshots(now: Date, limit: number): Promise<readonly string[]>;
  /** Removes those among them that are over at `now` and have no run under way; says how many. */
  removeSnapshots(ids: readonly string[], now: Date): Promise<number>;
}
