import type { Owner } from '#base/clock-and-ids.ts';
import type { Page, PageRequest } from '#base/reads.ts';
import type { NewEvent } from '../runs/timeline.ts';
import type { SandboxKey } from '../sandboxes/sandbox-records.ts';

/** Why a checkpoint was made. `manual`: by request. `restore`: before another one was restored. */
export const CHECKPOINT_CAUSES = ['manual', 'restore', 'approval', 'edits', 'command'] as const;
export type CheckpointCause = (typeof CHECKPOINT_CAUSES)[number];

/**
 * `creating`: its objects may be incomplete. `deleted`: no longer listed; its objects remain while
 * other checkpoints of its family refer to them.
 */
export type CheckpointState = 'creating' | 'ready' | 'deleted';

/** What the files of a checkpoint take. */
export interface CheckpointSize {
  readonly files: number;
  /** Bytes of all files. */
  readonly bytes: number;
  /** Bytes that this checkpoint added to the store: what changed since its parent. */
  readonly storedBytes: number;
  /** Files and folders that are missing: the sandbox's user may not read them. */
  readonly leftOut: number;
  /** False: some files changed while they were read, as in a crash of the machine. */
  readonly isConsistent: boolean;
}

/** Processes and their memory: an object beside the manifest. */
export interface StoredMemory {
  /** In hex. */
  readonly sha256: string;
  readonly bytes: number;
}

/** Which objects hold it. */
export interface CheckpointObjects {
  /** SHA-256 of the manifest, in hex. */
  readonly manifestSha256: string;
  /** Its manifest extends that of this checkpoint. */
  readonly baseId: string | null;
  /** Bytes of it in the pack of each checkpoint. */
  readonly packs: Readonly<Record<string, number>>;
  /** Null: it has only files. */
  readonly memory: StoredMemory | null;
}

export interface CheckpointRecord extends CheckpointSize, CheckpointObjects {
  /** `ckp_` + ULID. */
  readonly id: string;
  readonly owner: Owner;
  readonly sandboxId: string;
  readonly generation: number;
  /** Checkpoints that share objects: those of a sandbox and its forks. */
  readonly family: string;
  /** The checkpoint that the sandbox was at; null for the first. */
  readonly parentId: string | null;
  readonly label: string | null;
  readonly cause: CheckpointCause;
  readonly state: CheckpointState;
  readonly createdAt: Date;
  readonly image: string | null;
  /** Declared servers. */
  readonly servers: readonly { readonly name: string; readonly port: number | null }[];
  /** Names of the sandbox's variables. */
  readonly variables: readonly string[];
}

export type NewCheckpoint = Pick<
  CheckpointRecord,
  | 'id'
  | 'owner'
  | 'sandboxId'
  | 'generation'
  | 'family'
  | 'parentId'
  | 'label'
  | 'cause'
  | 'createdAt'
  | 'image'
  | 'variables'
>;

export type FinishedCheckpoint = CheckpointSize & CheckpointObjects & Pick<CheckpointRecord, 'servers'>;

/** Where a sandbox is in the tree of checkpoints. */
export interface CheckpointHead {
  readonly family: string;
  /** The last one that was made of it, or restored or forked into it. */
  readonly checkpointId: string;
  /** The last one that was made of it: its versions of files are of this sandbox. */
  readonly madeId: string | null;
}

/** What is appended to the timelines of the active runs of a sandbox. */
export interface CheckpointEvent {
  readonly sandboxId: string;
  readonly event: NewEvent;
  readonly at: Date;
}

export interface CheckpointRecords {
  /**
   * Inserts it as `creating`. False, and nothing changed, unless those are `ready` to which its
   * objects will refer.
   */
  begin(checkpoint: NewCheckpoint, needed: readonly string[]): Promise<boolean>;
  /** Makes it `ready`, moves the head of its sandbox to it, and appends the event. */
  finish(
    checkpoint: NewCheckpoint,
    finished: FinishedCheckpoint,
    published?: CheckpointEvent,
  ): Promise<CheckpointRecord>;
  /** In any state. */
  get(id: string): Promise<CheckpointRecord | undefined>;
  /** The `ready` ones of a sandbox, oldest first. */
  list(sandbox: SandboxKey): Promise<readonly CheckpointRecord[]>;
  /** The `ready` ones that were made by request, newest first. @param owner undefined: any */
  listManual(
    owner: Owner | undefined,
    filter: { readonly sandboxId?: string | undefined; readonly name?: string | undefined },
    page: PageRequest,
  ): Promise<Page<CheckpointRecord>>;
  head(sandbox: SandboxKey): Promise<CheckpointHead | undefined>;
  /** Also appends the event. */
  setHead(sandbox: SandboxKey, head: CheckpointHead, published?: CheckpointEvent): Promise<void>;
  /** Makes them `deleted`; false if none was `ready`. */
  markDeleted(ids: readonly string[]): Promise<boolean>;
  /** Makes all of a sandbox `deleted`, and forgets its head. */
  markAllDeleted(sandbox: SandboxKey): Promise<void>;
  /** All of a family in any state: what its objects are needed for. */
  family(family: string): Promise<readonly CheckpointRecord[]>;
  /** Records that the memory of a checkpoint is removed. */
  forgetMemory(checkpoint: CheckpointRecord): Promise<void>;
  /** Removes records, after their objects. */
  remove(ids: readonly string[]): Promise<void>;
  /** Families with a `deleted` checkpoint, or one that is `creating` since before `before`. */
  untidyFamilies(before: Date): Promise<readonly string[]>;
  /** Bytes of the objects of all of an owner's checkpoints. */
  storedBytes(owner: Owner): Promise<number>;
}
