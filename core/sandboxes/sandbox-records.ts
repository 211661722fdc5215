import type { NetworkPolicy } from '../network/network-policy.ts';
import type { SandboxSecrets } from '../network/network-secrets.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { ListFilter, Page, PageRequest } from '#base/reads.ts';
import type { SandboxSize } from './sandbox-provider.ts';
import type { SandboxSkill } from '../skills/skill-store.ts';

/** The desired and the last observed state, in two columns. */
export type DesiredState = 'running' | 'stopped' | 'destroyed';
export type ObservedState = 'creating' | 'running' | 'stopped' | 'destroyed';

export const ON_TIMEOUT = ['stop', 'delete'] as const;
export type OnTimeout = (typeof ON_TIMEOUT)[number];

export interface SandboxRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly image: string | null;
  /** Installation id: on a shared database, an installation removes only its own sandboxes. */
  readonly place: string;
  readonly desired: DesiredState;
  readonly observed: ObservedState;
  readonly createdAt: Date;
  /** The conversation it belongs to: a request with the same key and owner gets this sandbox. */
  readonly sessionKey: string | null;
  /** Unique per owner. */
  readonly name: string | null;
  readonly tags: Readonly<Record<string, string>>;
  /** The requested sizes; missing fields take the provider's defaults. */
  readonly resources: Partial<SandboxSize>;
  /** Destinations that it may connect to. */
  readonly network: NetworkPolicy;
  /**
   * The environment of every command of its owner. The values may be secrets: never logged, never
   * listed, deleted when the sandbox is destroyed.
   */
  readonly env: Readonly<Record<string, string>>;
  /** Inserted by the broker; never sent to the sandbox. Handled like the values of `env`. */
  readonly secrets: SandboxSecrets;
  /** The skills that its owner requested, with the result of placing each. */
  readonly skills: readonly SandboxSkill[];
  /** Time of its last use, to the minute. */
  readonly lastActiveAt: Date;
  /** When its desired state became `stopped`; null in another state. */
  readonly stoppedAt: Date | null;
  /**
   * It is stopped after this many seconds without a heartbeat; null: heartbeats are not required.
   */
  readonly ttlSeconds: number | null;
  /** When it ends, whatever it does; null: it has no such time. Ending it by a stop removes it. */
  readonly timeoutAt: Date | null;
  /** How it ends then. */
  readonly onTimeout: OnTimeout;
  /** Time of the last heartbeat; initially its creation. */
  readonly heartbeatAt: Date;
  /** Whether it is deleted together with the conversation in its tags. */
  readonly deleteWithThread: boolean;
  /** 1 for the first sandbox with its id; incremented when the id of a destroyed one is reused. */
  readonly generation: number;
}

/** One sandbox; the id of a destroyed one may be used again. */
export type SandboxKey = Pick<SandboxRecord, 'id' | 'generation'>;

/** The store sets `generation` and the times of use. */
export type NewSandboxRecord = Omit<
  SandboxRecord,
  | 'generation'
  | 'stoppedAt'
  | 'lastActiveAt'
  | 'heartbeatAt'
  | 'ttlSeconds'
  | 'timeoutAt'
  | 'onTimeout'
  | 'deleteWithThread'
  | 'secrets'
  | 'skills'
> &
  Partial<
    Pick<SandboxRecord, 'ttlSeconds' | 'timeoutAt' | 'onTimeout' | 'deleteWithThread' | 'secrets' | 'skills'>
  >;

export interface SandboxFilter extends ListFilter {
  readonly state?: ObservedState | undefined;
  readonly name?: string | undefined;
  readonly sessionKey?: string | undefined;
}

/** Orders of a list of sandboxes. `active`: last used first; `name`: those without one first. */
export const SANDBOX_SORTS = ['newest', 'oldest', 'active', 'name'] as const;
export type SandboxSort = (typeof SANDBOX_SORTS)[number];

export interface SandboxRecords {
  /**
   * Inserts it; a destroyed one is overwritten. Undefined, and nothing changed, if a sandbox with
   * the id exists that is not observed destroyed.
   */
  create(sandbox: NewSandboxRecord): Promise<SandboxRecord | undefined>;
  /** Undefined for unknown ids. Records of destroyed sandboxes are kept. */
  get(id: string): Promise<SandboxRecord | undefined>;
  /**
   * Does nothing if the id is unknown or the generation differs; so does `setObserved`. @param
   * generation default: any
   */
  setDesired(id: string, desired: DesiredState, generation?: number): Promise<void>;
  setObserved(id: string, observed: ObservedState, generation?: number): Promise<void>;
  /**
   * Compare-and-set of the desired state at `at`; false if it was not `from`, or if there was an
   * activity or a heartbeat since `seen`. Of two concurrent moves one wins, and an activity in
   * between wins over both. A move to `running` restarts the ttl.
   */
  moveDesired(
    sandbox: SandboxKey,
    from: DesiredState,
    to: DesiredState,
    at: Date,
    seen?: Pick<SandboxRecord, 'lastActiveAt' | 'heartbeatAt'>,
  ): Promise<boolean>;
  /** Sets when it ends; does nothing if the generation differs. */
  setTimeout(sandbox: SandboxKey, at: Date | null, onTimeout: OnTimeout): Promise<void>;
  /** Stores the result of placing its skills; does nothing if the generation differs. */
  setSkills(sandbox: SandboxKey, skills: readonly SandboxSkill[]): Promise<void>;
  /** Does nothing if the generation differs. */
  setNetwork(sandbox: SandboxKey, network: NetworkPolicy): Promise<void>;
  /**
   * Calls `wake` after each `setNetwork` of any process, and whenever one may have been missed.
   * Returns a function that stops watching.
   */
  watchNetwork(id: string, wake: () => void): () => void;
  /** Does nothing if the generation differs. */
  setSecrets(
    sandbox: Pick<SandboxRecord, 'id' | 'generation' | 'owner'>,
    secrets: SandboxSecrets,
  ): Promise<void>;
  /** Records use at `at`; never moves back. */
  touch(sandbox: SandboxKey, at: Date): Promise<void>;
  /**
   * Records a heartbeat at `at`, which is also activity; never moves back. Returns the resulting
   * record; undefined, and nothing changed, if its desired state is not `running`.
   */
  heartbeat(sandbox: SandboxKey, at: Date): Promise<SandboxRecord | undefined>;
  /**
   * The live ones of an owner, or of all owners but the service itself.
   * @param sort default: newest first
   */
  list(
    owner: Owner | undefined,
    filter: SandboxFilter,
    page: PageRequest,
    sort?: SandboxSort,
  ): Promise<Page<SandboxRecord>>;
  /** How many `list` has, at most `MAX_TOTAL`. */
  count(owner: Owner | undefined, filter: SandboxFilter): Promise<number>;
  /** Newest first: every sandbox but those both desired and observed destroyed. */
  live(page: PageRequest, place?: string): Promise<Page<SandboxRecord>>;
  /** The ids among `ids` that are observed destroyed; excludes unknown ids. */
  destroyedAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
