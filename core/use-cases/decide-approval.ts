import type { Person } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { ApprovalRecord, ApprovalScope } from '../ports/approvals.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Records } from '../ports/records.ts';
import type { RunRecord } from '../ports/run-records.ts';

export interface DecideApprovalDeps {
  readonly records: Pick<Records, 'approvals'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface ApprovalDecisionInput {
  readonly run: RunRecord;
  readonly person: Person;
  readonly requestId: string;
  readonly outcome: 'approved' | 'denied';
  readonly scope: ApprovalScope;
  readonly reason?: string | undefined;
}

export interface DecidedApproval {
  readonly approval: ApprovalRecord;
  /** What else waited and is approved by it. */
  readonly also: readonly ApprovalRecord[];
}

/**
 * Takes a decision, once. One that reaches further also approves what else waits and is covered by it.
 * @throws PortholeError `approval_not_found`, `approval_decided`; `invalid_request` for a scope
 * that does not fit the request
 */
export async function decideApproval(
  { records, clock, ids }: DecideApprovalDeps,
  { run, person, requestId, outcome, scope, reason }: ApprovalDecisionInput,
): Promise<DecidedApproval> {
  const now = clock.now();
  const decision = { outcome, scope, reason: reason ?? null, by: person.user, policyId: ids.policy() };
  const result = await records.approvals.decide(run.id, requestId, decision, now);
  if (result === undefined) {
    throw new PortholeError(
      'approval_not_found',
      `Run ${run.id} has asked for no approval ${requestId}: its timeline has the request_id of each.`,
    );
  }
  const { decided, approval, also } = result;
  if (!decided) throw alreadyEnded(approval);
  if (outcome === 'denied' || scope !== 'always') return { approval, also };
  const others = await records.approvals.runsWaiting(run.owner, approval.tool);
  // The decision is taken. What this does not reach waits on, and can still be decided.
  const applied = await Promise.allSettled(
    others.map((runId) => records.approvals.applyPolicies(runId, approval.tool, now)),
  );
  return {
    approval,
    also: [...also, ...applied.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))],
  };
}

const ENDED: Readonly<Record<ApprovalRecord['status'], string>> = {
  waiting: 'waits',
  approved: 'was approved',
  denied: 'was denied',
  timed_out: 'timed out',
  withdrawn: 'was withdrawn, because nobody waited for it any more or its run completed',
};

function alreadyEnded({ id, status, endedAt, decidedBy }: ApprovalRecord): PortholeError {
  const by = decidedBy === null ? '' : ` by ${decidedBy}`;
  const at = endedAt === null ? '' : ` at ${endedAt.toISOString()}`;
  return new PortholeError(
    'approval_decided',
    `Request ${id} ${ENDED[status]}${by}${at}, and that stands: the agent has to ask again.`,
  );
}
