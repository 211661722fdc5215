import type { Owner } from '#base/clock-and-ids.ts';
import type { Page, PageRequest } from '#base/reads.ts';
import type { ApprovalScope, PolicyScope } from './approval-scopes.ts';

/** Arguments of a tool call, by name. Calls with equal arguments are identical. */
export type ToolArguments = Readonly<Record<string, string | number | boolean>>;

/** The kind of policy that approves. */
export type PolicySource = `${PolicyScope}_policy`;

export interface ApprovalRequest {
  readonly id: string;
  readonly runId: string;
  readonly tool: string;
  readonly args: ToolArguments;
  /** The question to a person. */
  readonly message: string;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
}

export interface ApprovalRecord extends ApprovalRequest {
  readonly status: 'waiting' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
  readonly endedAt: Date | null;
  /** Who or what decided: a person, or a policy that was created while the request waited. */
  readonly source: 'person' | PolicySource | null;
  readonly decidedBy: string | null;
  readonly scope: ApprovalScope | null;
  /** In the person's own words. */
  readonly reason: string | null;
  /** When the caller received the decision. Until then it is kept for the caller's retry. */
  readonly takenAt: Date | null;
}

/** A pending approval as the list of all pending approvals shows it. */
export interface WaitingApproval extends ApprovalRequest {
  readonly runTitle: string | null;
  readonly owner: Owner;
}

/** One caller that waits for a decision. */
export interface Waiter {
  readonly id: string;
  /**
   * The lease: the waiter counts as waiting until then unless it renews. A killed function does not
   * renew.
   */
  readonly until: Date;
}

export interface Decision {
  readonly outcome: 'approved' | 'denied';
  readonly scope: ApprovalScope;
  readonly reason: string | null;
  /** The user who decides. */
  readonly by: string;
  /** The id of the policy that a scope beyond `once` creates. */
  readonly policyId: string;
}

/**
 * Approval requests. Each ends exactly once, also under concurrent writes: approved, denied, timed
 * out or withdrawn. The same transaction writes the outcome to the timeline.
 */
export interface ApprovalRecords {
  /**
   * Asks for approval. An identical request that was decided after `keptSince`, and is not taken,
   * is returned; an identical pending one is joined; otherwise this one is created.
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
  /** Undefined for an unknown or forgotten request. */
  get(id: string): Promise<ApprovalRecord | undefined>;
  /** Renews the waiter's lease. */
  stay(id: string, waiter: Waiter): Promise<void>;
  /**
   * Removes the waiter. Without any waiter the request is withdrawn, or times out if it has
   * expired. Otherwise returns when the leases of the other waiters end: call it again then,
   * because they may have been killed.
   */
  leave(runId: string, id: string, waiterId: string, now: Date): Promise<Date | undefined>;
  /**
   * Decides a pending request; an expired one times out instead. Undefined for an id that the run
   * does not have. A scope beyond `once` creates a policy, which also approves `also`: the other
   * pending requests of the run that it covers. A denial is kept: no policy for any port covers
   * what it denied until the same call is approved.
   * @throws PortholeError `invalid_request` for a scope of one port where the request names none
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
   * Applies the policies of the run and its owner to pending requests for the tool in this run.
   * Returns the requests that they approve.
   */
  applyPolicies(runId: string, tool: string, now: Date): Promise<readonly ApprovalRecord[]>;
  /**
   * The first `most` requests pending at `now`, oldest first; of one owner's runs, or of all owners
   * when `owner` is undefined.
   */
  waiting(owner: Owner | undefined, now: Date, most: number): Promise<readonly WaitingApproval[]>;
  /**
   * Calls `wake` whenever pending requests of any run may have changed, as `TimelineRecords.watch`
   * does for one run. Returns a function that unsubscribes.
   */
  watch(wake: () => void): () => void;
  /** The owner's runs with a pending request for the tool. */
  runsWaiting(owner: Owner, tool: string): Promise<readonly string[]>;
  /** Times out every request that has expired at `now`, of the run or of all; returns how many. */
  timeOut(now: Date, runId?: string): Promise<number>;
  /** Marks the decision as received by the caller. */
  take(id: string, at: Date): Promise<void>;
  /** Deletes requests that ended before `before`; returns how many. The timelines keep them. */
  forget(before: Date): Promise<number>;
}

/** A permanent approval by a person. */
export interface PolicyRecord {
  readonly id: string;
  readonly owner: Owner;
  readonly tool: string;
  /** Null: in every run of the owner. */
  readonly runId: string | null;
  /** Null: for any port. */
  readonly targetPort: number | null;
  readonly createdAt: Date;
  /** The user who created it. */
  readonly createdBy: string;
}

export interface PolicyRecords {
  /**
   * The narrowest policy that covers the call in this run of this owner, unless the run has a
   * denial for the same call.
   */
  covering(owner: Owner, runId: string, tool: string, args: ToolArguments): Promise<PolicyRecord | undefined>;
  get(id: string): Promise<PolicyRecord | undefined>;
  /** Newest first; of one owner, or of all owners when `owner` is undefined. */
  list(owner: Owner | undefined, page: PageRequest): Promise<Page<PolicyRecord>>;
  /** Returns false if it does not exist. */
  delete(id: string): Promise<boolean>;
}
