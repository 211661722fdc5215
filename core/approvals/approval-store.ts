import type { Owner } from '../shared/clock-and-ids.ts';
import type { Page, PageRequest } from '../shared/reads.ts';

/** What a tool is called with, by name. Two calls with the same are identical. */
export type ToolArguments = Readonly<Record<string, string | number | boolean>>;

/**
 * How far an approval reaches: this call, its port in this run, any port in this run, or any port
 * in every run of the owner.
 */
export type ApprovalScope = 'once' | 'port' | 'run' | 'always';

/** The kind of a policy that approves. */
export type PolicySource = `${Exclude<ApprovalScope, 'once'>}_policy`;

export interface ApprovalRequest {
  readonly id: string;
  readonly runId: string;
  readonly tool: string;
  readonly args: ToolArguments;
  /** What a person is asked. */
  readonly message: string;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
}

export interface ApprovalRecord extends ApprovalRequest {
  readonly status: 'waiting' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
  readonly endedAt: Date | null;
  /** Who or what decided: a person, or a policy that was made while it waited. */
  readonly source: 'person' | PolicySource | null;
  readonly decidedBy: string | null;
  readonly scope: ApprovalScope | null;
  /** In the person's own words. */
  readonly reason: string | null;
  /** When the caller has got what was decided. Until then it is kept for the caller's retry. */
  readonly takenAt: Date | null;
}

/** What waits for a person, as somebody who looks at all of it at once needs it. */
export interface WaitingApproval extends ApprovalRequest {
  readonly runTitle: string | null;
  readonly owner: Owner;
}

/** One caller that waits for a decision. */
export interface Waiter {
  readonly id: string;
  /**
   * Until when it counts as waiting, unless it says so again: a function that was killed says
   * nothing more.
   */
  readonly until: Date;
}

export interface Decision {
  readonly outcome: 'approved' | 'denied';
  readonly scope: ApprovalScope;
  readonly reason: string | null;
  /** The user who decides. */
  readonly by: string;
  /** Of the policy that a scope beyond `once` makes. */
  readonly policyId: string;
}

/**
 * Questions to a person. Each ends once: approved, denied, timed out or withdrawn, whoever tries
 * whatever at the same time, and its timeline tells how in the same transaction.
 */
export interface ApprovalRecords {
  /**
   * Asks, unless the answer is there or on its way. An identical request that was decided after
   * `keptSince`, and whose decision nobody has taken, is returned; one that waits is joined;
   * otherwise this one begins to wait.
   * @throws PortholeError `too_many_approvals` when the run has begun `most` others after `since`;
   * `run_ended` for a request of its agent once it has completed
   */
  ask(
    request: ApprovalRequest,
    waiter: Waiter,
    bounds: {
      readonly keptSince: Date;
      readonly since: Date;
      readonly most: number;
      /** @default false */
      readonly byAgent?: boolean;
    },
  ): Promise<ApprovalRecord>;
  /** Undefined for one that nobody asked, or that is forgotten. */
  get(id: string): Promise<ApprovalRecord | undefined>;
  /** The waiter goes on waiting. */
  stay(id: string, waiter: Waiter): Promise<void>;
  /**
   * The waiter has gone. With nobody left the request is withdrawn, or has timed out where its time
   * is over. Returns until when others may be waiting: who of them is still there, shows then (call
   * it again).
   */
  leave(runId: string, id: string, waiterId: string, now: Date): Promise<Date | undefined>;
  /**
   * Decides what waits; past its expiry it times out instead. Undefined for an id that the run does
   * not have. A scope beyond `once` leaves a policy, which also approves
   * `also`: what else it covers in this run. A denial is kept, and no policy for any port covers
   * what it denied, until the same is approved.
   * @throws PortholeError `invalid_request` for the scope `port` where the request names none
   */
  decide(
    runId: string,
    id: string,
    decision: Decision,
    now: Date,
  ): Promise<
    | {
        readonly decided: boolean;
        readonly approval: ApprovalRecord;
        readonly also: readonly ApprovalRecord[];
      }
    | undefined
  >;
  /**
   * The run's policies, or its owner's, approve what waits for the tool in this run. Returns what
   * they have approved.
   */
  applyPolicies(runId: string, tool: string, now: Date): Promise<readonly ApprovalRecord[]>;
  /**
   * What waits at `now`, the oldest first, `most` of them; of one owner's runs, or of everybody's
   * when `owner` is undefined.
   */
  waiting(owner: Owner | undefined, now: Date, most: number): Promise<readonly WaitingApproval[]>;
  /**
   * Calls `wake` whenever what waits may have changed, in whatever run, as `TimelineRecords.watch`
   * does for one. Returns what ends it.
   */
  watch(wake: () => void): () => void;
  /** The owner's runs in which somebody waits for the tool. */
  runsWaiting(owner: Owner, tool: string): Promise<readonly string[]>;
  /** Ends every request that is past its expiry at `now`, of the run or of all; says how many. */
  timeOut(now: Date, runId?: string): Promise<number>;
  /** The caller has got what was decided. */
  take(id: string, at: Date): Promise<void>;
  /** Forgets requests that ended before `before`; says how many. Their timelines remember them. */
  forget(before: Date): Promise<number>;
}

/** What a person allows once and for all. */
export interface PolicyRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly tool: string;
  /** Null: in every run of the owner. */
  readonly runId: string | null;
  /** Null: for any port. */
  readonly targetPort: number | null;
  readonly createdAt: Date;
  /** The user who made it. */
  readonly createdBy: string;
}

export interface PolicyRecords {
  /**
   * The narrowest that covers the call in this run of this owner, unless what it asks for was
   * denied in the run.
   */
  covering(owner: Owner, runId: string, tool: string, args: ToolArguments): Promise<PolicyRecord | undefined>;
  get(id: string): Promise<PolicyRecord | undefined>;
  /** Newest first; of one owner, or of everybody when `owner` is undefined. */
  list(owner: Owner | undefined, page: PageRequest): Promise<Page<PolicyRecord>>;
  /** False when there is none. */
  delete(id: string): Promise<boolean>;
}
