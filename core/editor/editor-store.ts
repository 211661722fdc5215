import type { Owner } from '#base/clock-and-ids.ts';
import type { Page, PageRequest } from '#base/reads.ts';

export type ToolLanguage = 'python' | 'node';

/** Parsed JSON. */
export type JsonValue = unknown;
export type JsonObject = Readonly<Record<string, JsonValue>>;

/** The content of a tool: each version, draft and snapshot has one. */
export interface ToolSource {
  /** Name of the function, or `module:function`. */
  readonly entrypoint: string;
  readonly sourceCode: string;
  readonly language: ToolLanguage;
  /** Schema of `inputs`; null: any JSON. */
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
  /** 1 for a tool's first version, incremented for each later one. */
  readonly number: number;
  readonly createdAt: Date;
  readonly createdBy: string;
}

export type NewToolVersion = Omit<ToolVersionRecord, 'number'>;

/** The exclusive right to change and run the draft, until it expires. */
export interface DraftLock {
  readonly holder: Owner;
  /** 64 hex digits. The token itself is not stored. */
  readonly tokenSha256: string;
  readonly expiresAt: Date;
}

/** The draft of a tool's next version: one per tool. */
export interface DraftRecord extends ToolSource {
  readonly toolId: string;
  /** The version that the draft is based on. */
  readonly versionId: string;
  /** Incremented by each change. */
  readonly revision: number;
  readonly updatedAt: Date;
  readonly updatedBy: string;
  /** The last lock that was taken and not released. It may have expired. */
  readonly lock: DraftLock | null;
}

export type DraftChange = Partial<ToolSource & Pick<DraftRecord, 'versionId'>>;

/** The code and schemas of a run, kept for the actions that follow it. */
export interface SnapshotRecord extends ToolSource {
  readonly id: string;
  readonly toolId: string;
  readonly versionId: string;
  readonly owner: Owner;
  /** Size of the payload in canonical form; 0 without a payload. */
  readonly payloadBytes: number;
  /** State that the last run left for the next one; null: none. */
  readonly state: JsonValue;
  /** The sandbox with its session files; null before the first run. */
  readonly sandboxId: string | null;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly expiresAt: Date;
}

/**
 * An action that a person can start from a result, by its `id`. The other fields are defined by the
 * tool and its user interface.
 */
export interface NextAction {
  readonly id: string;
  readonly [more: string]: JsonValue;
}

export interface ToolRunError {
  readonly code: ToolRunErrorCode;
  readonly message: string;
  /** The tool's own stack frames; null without frames. */
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
  /** Kept with its expiry after the snapshot is removed. */
  readonly snapshotId: string;
  readonly snapshotExpiresAt: Date;
  readonly owner: Owner;
  /** Null for a run; otherwise the action that was started, and the run that offered it. */
  readonly actionId: string | null;
  readonly parentRunId: string | null;
  readonly inputs: JsonValue;
  readonly status: 'running' | 'succeeded' | 'failed';
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly endedAt: Date | null;
  /** A run that has not ended by then was interrupted. */
  readonly deadline: Date;
}

/** A run in a list: without inputs, outputs and logs, which can be megabytes. */
export type ToolRunSummary = Omit<ToolRunRecord, 'inputs' | 'outputs' | 'nextActions' | 'stdout' | 'stderr'>;

export type NewToolRun = Omit<ToolRunRecord, keyof ToolRunOutcome | 'endedAt'>;

/** Result of a change that requires the lock. */
export type DraftSaving =
  | { readonly kind: 'saved'; readonly draft: DraftRecord }
  /** The token is not that of the active lock; nothing changed. */
  | { readonly kind: 'not_locked'; readonly draft: DraftRecord }
  /** The draft has another revision; nothing changed. */
  | { readonly kind: 'stale'; readonly draft: DraftRecord };

/** Limits of one owner. */
export interface RunBounds {
  /** Concurrent runs. */
  readonly runs: number;
  /**
   * Total size of source and state of all unexpired snapshots. An action may exceed it with its
   * state; then no new run begins.
   */
  readonly snapshotBytes: number;
}

export type ToolRemoval =
  | { readonly kind: 'removed' }
  /** Another user holds the lock; nothing changed. */
  | { readonly kind: 'not_locked'; readonly draft: DraftRecord };

export type RunBeginning =
  | { readonly kind: 'begun' }
  | { readonly kind: 'not_locked'; readonly draft: DraftRecord }
  /** Another run of the same snapshot is under way. */
  | { readonly kind: 'busy'; readonly runId: string }
  /** How many runs the owner has under way. */
  | { readonly kind: 'too_many'; readonly running: number }
  /** Size of the owner's unexpired snapshots, including this one. */
  | { readonly kind: 'full'; readonly bytes: number }
  /** The snapshot has expired, or is removed. */
  | { readonly kind: 'expired' };

/** The lock that a caller claims to hold, and when. */
export interface LockClaim {
  readonly toolId: string;
  readonly tokenSha256: string;
  readonly at: Date;
}

/** Tools and their versions. Every method of these four stores is one transaction. */
export interface ToolRecords {
  /** With its first version, which is also the draft. */
  create(tool: ToolRecord, version: NewToolVersion): Promise<void>;
  get(id: string): Promise<ToolRecord | undefined>;
  /** Newest first; of one owner, or of all owners when `owner` is undefined. */
  list(owner: Owner | undefined, page: PageRequest): Promise<Page<ToolRecord>>;
  /** Returns false for an unknown tool. */
  rename(id: string, name: string): Promise<boolean>;
  /**
   * Removes a tool with its versions, draft and runs, unless another user than `claim` holds the
   * lock. Its snapshots expire at `claim.at`. Undefined for an unknown tool.
   */
  remove(claim: LockClaim): Promise<ToolRemoval | undefined>;
  /** Assigns the tool's next number. Undefined for an unknown tool. */
  addVersion(version: NewToolVersion): Promise<ToolVersionRecord | undefined>;
  version(id: string): Promise<ToolVersionRecord | undefined>;
  /** Newest first. */
  versions(toolId: string, page: PageRequest): Promise<Page<ToolVersionRecord>>;
}

/** The draft of each tool, and its lock. */
export interface DraftRecords {
  get(toolId: string): Promise<DraftRecord | undefined>;
  /** @param revision the expected revision; undefined: any */
  save(
    claim: LockClaim,
    change: DraftChange,
    by: string,
    revision?: number,
  ): Promise<DraftSaving | undefined>;
  /**
   * Takes the lock if none is active at `at`, or if `over` allows a takeover. Of concurrent callers
   * one gets it. Returns the resulting lock.
   * @param over which active lock may be taken over: the holder's own, or any
   */
  takeLock(toolId: string, lock: DraftLock, at: Date, over?: 'own' | 'any'): Promise<DraftLock | undefined>;
  /** Returns false if the token is not that of the active lock. */
  renewLock(claim: LockClaim, expiresAt: Date): Promise<boolean>;
  /** Releases the lock, expired or not; returns false if it is another user's. */
  releaseLock(claim: Omit<LockClaim, 'at'>): Promise<boolean>;
}

export interface ToolRunRecords {
  /**
   * Records the run as running, and a new snapshot, if the lock is held, no other run of the
   * snapshot is under way, and the owner stays within `most`.
   * @param snapshot undefined: `run.snapshotId` must exist and be unexpired
   */
  begin(
    claim: LockClaim,
    run: NewToolRun,
    snapshot: SnapshotRecord | undefined,
    most: RunBounds,
  ): Promise<RunBeginning>;
  /**
   * Ends a running run; returns false, without a change, if it has already ended. `kept` is stored
   * in its snapshot.
   */
  end(
    id: string,
    outcome: ToolRunOutcome,
    at: Date,
    kept?: { readonly sandboxId?: string | undefined; readonly state?: JsonValue },
  ): Promise<boolean>;
  get(id: string): Promise<ToolRunRecord | undefined>;
  /** Newest first. */
  list(toolId: string, page: PageRequest): Promise<Page<ToolRunSummary>>;
  /**
   * Fails runs that are past their deadline at `now`, with this error; returns how many, at most
   * `limit`.
   */
  failOverdue(now: Date, error: ToolRunError, limit: number): Promise<number>;
  /**
   * Removes ended runs with snapshots that had expired at `before`, oldest first; returns how many,
   * at most `limit`.
   */
  removeOlder(before: Date, limit: number): Promise<number>;
}

/** Snapshots that runs of tools act on. */
export interface ToolSnapshotRecords {
  /** The snapshots of this owner with a run under way. */
  underWay(owner: Owner, now: Date): Promise<ReadonlySet<string>>;
  get(id: string): Promise<SnapshotRecord | undefined>;
  /** Ids of snapshots that have expired at `now` and have no run under way, oldest first. */
  expired(now: Date, limit: number): Promise<readonly string[]>;
  /** Removes those that have expired at `now` and have no run under way; returns how many. */
  remove(ids: readonly string[], now: Date): Promise<number>;
}
