import type { NetworkPolicy } from '../network/network-policy.ts';
import type { Quota, Usage } from './sandbox-quotas.ts';
import type { Owner } from '../shared/clock-and-ids.ts';
import type { Page, PageRequest } from '../shared/reads.ts';
import type { SandboxSize } from './sandbox-provider.ts';
import type { SandboxSkill } from '../skills/skill-store.ts';

/** What is wanted, and what was last seen: two columns that never share a value's meaning. */
export type DesiredState = 'running' | 'stopped' | 'destroyed';
export type ObservedState = 'creating' | 'running' | 'stopped' | 'destroyed';

export interface SandboxRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly image: string | null;
  /**
   * Which installation's provider holds it: on a shared database nobody clears away the sandboxes
   * of another.
   */
  readonly place: string;
  readonly desired: DesiredState;
  readonly observed: ObservedState;
  readonly createdAt: Date;
  /**
   * The conversation it belongs to: a second request with the same key of the same owner gets this
   * very one.
   */
  readonly sessionKey: string | null;
  /** Unique among its owner's. */
  readonly name: string | null;
  readonly tags: Readonly<Record<string, string>>;
  /** What somebody asked for; the rest is the provider's default. */
  readonly resources: Partial<SandboxSize>;
  /** What it may reach. */
  readonly network: NetworkPolicy;
  /**
   * What every command of its owner finds in its environment. The values may be secrets: never
   * logged, never listed, forgotten once the sandbox is destroyed.
   */
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
  /**
   * 1 for the first sandbox under its id, one more for each that takes over the id of a destroyed
   * one.
   */
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
export interface QuotaLimits {
  readonly quota: Quota;
  readonly defaultSize: SandboxSize;
}

/** On which an owner gets a sandbox. */
export interface SandboxOptions {
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
  /** @default none */
  readonly network?: NetworkPolicy | undefined;
  /** The size it counts as. */
  readonly resources: Partial<SandboxSize>;
  /** Undefined: nothing binds the owner. */
  readonly quotaLimits?: QuotaLimits | undefined;
}

export interface SandboxFilter {
  readonly state?: ObservedState | undefined;
  readonly name?: string | undefined;
  readonly sessionKey?: string | undefined;
  /** All of them. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

export interface SandboxRecords {
  /**
   * Inserts it, and returns its generation. Undefined, and nothing changed, when the id is taken by
   * a sandbox that is not observed to be destroyed; from one that is, it takes over the id, and
   * every column.
   */
  create(sandbox: NewSandboxRecord): Promise<number | undefined>;
  /**
   * Inserts it as `create` does, unless its owner has one of that session key or of that name, or
   * would have more with it than the allowance. Counted and inserted in one transaction, so that no
   * number of simultaneous requests gets past either.
   */
  reserve(sandbox: NewSandboxRecord, quotaLimits?: QuotaLimits): Promise<Reservation>;
  /** What an owner has, as quotas count it. */
  usage(owner: Owner, defaultSize: SandboxSize): Promise<Usage>;
  /**
   * Wants a stopped sandbox to run at `at`, when its ttl begins anew, and counts it, in one
   * transaction. `unchanged` where it was not wanted to be stopped, or is of another generation;
   * what its owner has where it would be more than the allowance.
   */
  wake(
    sandbox: Pick<SandboxRecord, 'id' | 'generation'>,
    at: Date,
    quotaLimits?: QuotaLimits,
  ): Promise<'woken' | 'unchanged' | Usage>;
  /** Undefined for unknown ids; destroyed ones are kept, so that their end is known for certain. */
  get(id: string): Promise<SandboxRecord | undefined>;
  /**
   * Does nothing for an unknown id, or where another generation has taken it over meanwhile; so
   * does `setObserved`. @param generation default: whichever there is
   */
  setDesired(id: string, desired: DesiredState, generation?: number): Promise<void>;
  setObserved(id: string, observed: ObservedState, generation?: number): Promise<void>;
  /**
   * Moves what is wanted from one state to another at `at`; false when something else was wanted,
   * or when there was an activity or a heartbeat after what `judged` saw. So of two that disagree
   * one wins, and an activity in between wins over both. Wanted to run, a ttl begins anew.
   */
  moveDesired(
    sandbox: Pick<SandboxRecord, 'id' | 'generation'>,
    from: DesiredState,
    to: DesiredState,
    at: Date,
    seen?: Pick<SandboxRecord, 'lastActiveAt' | 'heartbeatAt'>,
  ): Promise<boolean>;
  /** What came of its skills; does nothing where another generation has taken over the id. */
  setSkills(
    sandbox: Pick<SandboxRecord, 'id' | 'generation'>,
    skills: readonly SandboxSkill[],
  ): Promise<void>;
  /** Does nothing where another generation has taken over the id. */
  setNetwork(sandbox: Pick<SandboxRecord, 'id' | 'generation'>, network: NetworkPolicy): Promise<void>;
  /** Somebody did something with it at `at`; never moves back. */
  touch(sandbox: Pick<SandboxRecord, 'id' | 'generation'>, at: Date): Promise<void>;
  /**
   * Somebody said at `at` that it is still wanted, which is activity, too; never moves back. The
   * record as it then stands; undefined, and nothing changed, where it is not wanted to run.
   */
  heartbeat(sandbox: Pick<SandboxRecord, 'id' | 'generation'>, at: Date): Promise<SandboxRecord | undefined>;
  /** Newest first: the live ones of an owner, or of everybody but the service itself. */
  list(owner: Owner | undefined, filter: SandboxFilter, page: PageRequest): Promise<Page<SandboxRecord>>;
  /** Newest first: every sandbox but those that are both wanted and observed to be destroyed. */
  live(page: PageRequest, place?: string): Promise<Page<SandboxRecord>>;
  /** The ids among `ids` that are observed to be destroyed. Unknown ids are not among them. */
  destroyedAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Those of one owner in a place that are wanted to run and not observed to be destroyed, oldest
   * first, at most 1000.
   */
  wantedBy(owner: Owner, place: string): Promise<readonly SandboxRecord[]>;
  /** How many in a place are wanted to run and not observed to be destroyed. */
  countWanted(place: string): Promise<number>;
  /**
   * Gives the oldest sandbox of `from` in the place that is wanted to run and observed to, or the
   * very one that `id` names, to `to`, as one that is created at `at`: it counts as being created
   * again. However many ask at once, each one gets another sandbox; undefined when there is none,
   * and where `terms` are given that `reserve` would refuse.
   */
  takeWarm(
    place: string,
    from: Owner,
    to: Owner,
    at: Date,
    options?: { readonly id?: string | undefined; readonly sandboxOptions?: SandboxOptions | undefined },
  ): Promise<SandboxRecord | undefined>;
}
