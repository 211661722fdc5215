import type { Quota, Usage } from '../rules/quotas.ts';
import type { ApprovalRecords, PolicyRecords } from './approvals.ts';
import type { EditorRecords } from './editor.ts';
import type { ImageRecords } from './images.ts';
import type { SandboxSize } from './sandbox-provider.ts';
import type { ArchiveRecords } from './archives.ts';
import type { DelegationRecords } from './delegations.ts';
import type { SandboxEventRecords } from './sandbox-events.ts';
import type { SandboxSkill, SkillRecords } from './skills.ts';
import type { NewEvent, TimelineRecords } from './timeline.ts';

/** Who owns a thing: a user within an org. */
export interface Owner {
  readonly user: string;
  readonly org: string;
}

export interface RunRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly title: string | null;
  readonly sandboxId: string;
  readonly autoApproveTools: boolean;
  readonly status: 'running' | 'completed';
  /** The key that this run's preview tokens are derived with. */
  readonly tokenKid: string;
  readonly createdAt: Date;
  readonly completedAt: Date | null;
}

/** What is wanted, and what was last seen: two columns that never share a value's meaning. */
export type DesiredState = 'running' | 'stopped' | 'destroyed';
export type ObservedState = 'creating' | 'running' | 'stopped' | 'destroyed';

export interface SandboxRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly image: string | null;
  /** Which installation's provider holds it: on a shared database nobody clears away the sandboxes of another. */
  readonly place: string;
  readonly desired: DesiredState;
  readonly observed: ObservedState;
  readonly createdAt: Date;
  /** The conversation it belongs to: a second request with the same key of the same owner gets this very one. */
  readonly sessionKey: string | null;
  /** Unique among its owner's. */
  readonly name: string | null;
  readonly tags: Readonly<Record<string, string>>;
  /** What somebody asked for; the rest is the provider's default. */
  readonly resources: Partial<SandboxSize>;
  /** Whether it may reach the internet. */
  readonly network: boolean;
  /** What every command of its owner finds in its environment. The values may be secrets: never logged, never listed, forgotten once the sandbox is destroyed. */
  readonly env: Readonly<Record<string, string>>;
  /** Those that its owner asked for, and what came of it. */
  readonly skills: readonly SandboxSkill[];
  /** When somebody last did something with it, to the minute. */
  readonly lastActiveAt: Date;
  /** Since when it is wanted to be stopped; null while it is not. */
  readonly stoppedAt: Date | null;
  /** Without a heartbeat for so many seconds it is stopped; null: it needs none. */
  readonly ttlSeconds: number | null;
  /** When somebody last said that it is still wanted; at first, its creation. */
  readonly heartbeatAt: Date;
  /** Whether it goes with the conversation that it is tagged with. */
  readonly deleteWithThread: boolean;
  /** 1 for the first sandbox under its id, one more for each that takes over the id of a destroyed one. */
  readonly generation: number;
}

/** Which generation it is, and that nobody stopped it yet, the records say. */
export type NewSandboxRecord = Omit<
  SandboxRecord,
  'generation' | 'stoppedAt' | 'lastActiveAt' | 'heartbeatAt' | 'ttlSeconds' | 'deleteWithThread' | 'skills'
> &
  Partial<Pick<SandboxRecord, 'ttlSeconds' | 'deleteWithThread' | 'skills'>>;

/** What came of asking for a new sandbox. */
export type Reservation =
  | { readonly kind: 'reserved'; readonly sandbox: SandboxRecord }
  /** There is one of that session key, or of that name; nothing changed. */
  | { readonly kind: 'same_session'; readonly sandbox: SandboxRecord }
  | { readonly kind: 'same_name'; readonly sandbox: SandboxRecord }
  | { readonly kind: 'id_taken' }
  /** With it the owner would have more than is allowed; nothing changed. */
  | { readonly kind: 'over_quota'; readonly used: Usage };

/** What an owner may have, and what a sandbox counts that asks for no size. */
export interface Allowance {
  readonly quota: Quota;
  readonly defaultSize: SandboxSize;
}

/** On which an owner gets a sandbox. */
export interface SandboxTerms {
  readonly sessionKey: string | null;
  readonly name: string | null;
  readonly tags: Readonly<Record<string, string>>;
  /** @default null */
  readonly ttlSeconds?: number | null | undefined;
  /** @default false */
  readonly deleteWithThread?: boolean | undefined;
  /** @default none */
  readonly skills?: readonly SandboxSkill[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** The size it counts as. */
  readonly resources: Partial<SandboxSize>;
  /** Undefined: nothing binds the owner. */
  readonly allowance?: Allowance | undefined;
}

export interface SandboxFilter {
  readonly state?: ObservedState | undefined;
  readonly name?: string | undefined;
  readonly sessionKey?: string | undefined;
  /** All of them. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Pass it as `after` to get what follows; null on the last page. */
  readonly next: string | null;
}

export interface PageRequest {
  /** 1..1000 */
  readonly limit: number;
  readonly after?: string | undefined;
}

export interface RunRecords {
  /**
   * With its timeline's first events, in one transaction. `internal_error`, and nothing changed, when the id is taken: ids are fresh, so that is a mistake.
   */
  create(run: RunRecord, told?: readonly NewEvent[]): Promise<void>;
  get(id: string): Promise<RunRecord | undefined>;
  /**
   * Newest first; of one owner, or of everybody when `owner` is undefined. `invalid_request` on a limit out of range
   * and on an `after` that no page gave.
   */
  list(owner: Owner | undefined, page: PageRequest): Promise<Page<RunRecord>>;
  /** Marks it completed at `at` if it runs, withdraws the approvals that wait in it, and then tells that; returns the record as it then stands, with the first completion's time. */
  complete(id: string, at: Date, told?: readonly NewEvent[]): Promise<RunRecord | undefined>;
  /** The ids among `ids` whose run has completed. */
  completedAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** The ids of the runs that work in a sandbox, in their order. */
  inSandbox(sandboxId: string): Promise<readonly string[]>;
}

export interface SandboxRecords {
  /**
   * Inserts it, and returns its generation. Undefined, and nothing changed, when the id is taken by a sandbox that is not observed to be destroyed;
   * from one that is, it takes over the id, and every column.
   */
  create(sandbox: NewSandboxRecord): Promise<number | undefined>;
  /**
   * Inserts it as `create` does, unless its owner has one of that session key or of that name, or would have more with it than the allowance. Counted and inserted in one transaction, so that
   * no number of simultaneous requests gets past either.
   */
  reserve(sandbox: NewSandboxRecord, allowance?: Allowance): Promise<Reservation>;
  /** What an owner has, as quotas count it. */
  usage(owner: Owner, defaultSize: SandboxSize): Promise<Usage>;
  /**
   * Wants a stopped sandbox to run at `at`, when its ttl begins anew, and counts it, in one transaction. `unchanged` where it was not wanted to be stopped, or is of another generation; what its owner has
   * where it would be more than the allowance.
   */
  wake(
    sandbox: Pick<SandboxRecord, 'id' | 'generation'>,
    at: Date,
    allowance?: Allowance,
  ): Promise<'woken' | 'unchanged' | Usage>;
  /** Undefined for unknown ids; destroyed ones are kept, so that their end is known for certain. */
  get(id: string): Promise<SandboxRecord | undefined>;
  /** Does nothing for an unknown id, or where another generation has taken it over meanwhile; so does `setObserved`. @param generation default: whichever there is */
  setDesired(id: string, desired: DesiredState, generation?: number): Promise<void>;
  setObserved(id: string, observed: ObservedState, generation?: number): Promise<void>;
  /**
   * Moves what is wanted from one state to another at `at`; false when something else was wanted, or when there was an activity or a heartbeat after what `judged` saw. So of two that disagree one wins, and an
   * activity in between wins over both. Wanted to run, a ttl begins anew.
   */
  moveDesired(
    sandbox: Pick<SandboxRecord, 'id' | 'generation'>,
    from: DesiredState,
    to: DesiredState,
    at: Date,
    judged?: Pick<SandboxRecord, 'lastActiveAt' | 'heartbeatAt'>,
  ): Promise<boolean>;
  /** What came of its skills; does nothing where another generation has taken over the id. */
  setSkills(
    sandbox: Pick<SandboxRecord, 'id' | 'generation'>,
    skills: readonly SandboxSkill[],
  ): Promise<void>;
  /** Somebody did something with it at `at`; never moves back. */
  touch(sandbox: Pick<SandboxRecord, 'id' | 'generation'>, at: Date): Promise<void>;
  /** Somebody said at `at` that it is still wanted, which is activity, too; never moves back. The record as it then stands; undefined, and nothing changed, where it is not wanted to run. */
  beat(sandbox: Pick<SandboxRecord, 'id' | 'generation'>, at: Date): Promise<SandboxRecord | undefined>;
  /** Newest first: the live ones of an owner, or of everybody but the service itself. */
  list(owner: Owner | undefined, filter: SandboxFilter, page: PageRequest): Promise<Page<SandboxRecord>>;
  /** Newest first: every sandbox but those that are both wanted and observed to be destroyed. */
  live(page: PageRequest, place?: string): Promise<Page<SandboxRecord>>;
  /** The ids among `ids` that are observed to be destroyed. Unknown ids are not among them. */
  destroyedAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Those of one owner in a place that are wanted to run and not observed to be destroyed, oldest first, at most 1000. */
  wantedBy(owner: Owner, place: string): Promise<readonly SandboxRecord[]>;
  /** How many in a place are wanted to run and not observed to be destroyed. */
  countWanted(place: string): Promise<number>;
  /**
   * Gives the oldest sandbox of `from` in the place that is wanted to run and observed to, or the very one that `id` names, to `to`, as one that is created at `at`: it counts as being
   * created again. However many ask at once, each one gets another sandbox; undefined when there is none, and where `terms` are given that `reserve` would refuse.
   */
  takeWarm(
    place: string,
    from: Owner,
    to: Owner,
    at: Date,
    options?: { readonly id?: string | undefined; readonly terms?: SandboxTerms | undefined },
  ): Promise<SandboxRecord | undefined>;
}

export type EndReason = 'stopped' | 'expired' | 'orphaned';

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
   * In one transaction: moves the generation from `from` to `from + 1`, if it still is `from`, and leaves the tombstone
   * in any case, as `bury` does, and tells the run what is `told`. Returns the generation that then stands.
   */
  end(
    runId: string,
    targetPort: number,
    from: number,
    tombstone: Tombstone,
    told?: readonly NewEvent[],
  ): Promise<number>;
  /** Leaves or replaces tombstones; a `stopped` one is never replaced by a weaker reason. */
  bury(tombstones: readonly Tombstone[]): Promise<void>;
  tombstone(tokenSha256: string): Promise<Tombstone | undefined>;
  /** The hashes among `tokenSha256s` that were stopped explicitly. */
  stoppedAmong(tokenSha256s: readonly string[]): Promise<ReadonlySet<string>>;
  /** Forgets tombstones older than `before`; says how many. */
  forget(before: Date): Promise<number>;
}

/**
 * The durable memory of runs and their timelines, approvals, sandboxes, ended previews and the editor's tools. Nothing that a live preview needs is in here.
 * Every method is one transaction; times are stored as RFC 3339 UTC text with milliseconds. Each may fail with
 * `service_unavailable` when the database cannot be reached or used, and with `invalid_request` on a text that holds
 * U+0000. A write that fails with `service_unavailable` may have taken effect.
 */
export interface Records {
  readonly runs: RunRecords;
  readonly sandboxes: SandboxRecords;
  readonly previews: PreviewRecords;
  readonly timeline: TimelineRecords;
  readonly approvals: ApprovalRecords;
  readonly policies: PolicyRecords;
  readonly editor: EditorRecords;
  readonly images: ImageRecords;
  readonly delegations: DelegationRecords;
  readonly sandboxEvents: SandboxEventRecords;
  readonly skills: SkillRecords;
  readonly archives: ArchiveRecords;
  /** Brings the schema to the newest migration; safe when several instances start at once. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}
