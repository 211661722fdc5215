import { mayManage, type Person } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { PreviewOptions } from '../previews/preview-limits.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Clock, Ids } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { approvedBeforehand, type Grant, policyGrant } from './approval-events.ts';
import { type ApprovalScope, POLICY_SCOPES } from './approval-scopes.ts';
import type { ApprovalRecord, ToolArguments } from './approval-store.ts';

interface DecideApprovalDeps {
  readonly records: Pick<Records, 'approvals'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

interface ApprovalDecisionInput {
  readonly run: RunRecord;
  readonly person: Person;
  readonly requestId: string;
  readonly outcome: 'approved' | 'denied';
  readonly scope: ApprovalScope;
  readonly reason?: string | undefined;
}

export interface DecidedApproval {
  readonly approval: ApprovalRecord;
  /** Other pending requests that the same decision approved. */
  readonly also: readonly ApprovalRecord[];
}

/**
 * Decides an approval once. A scope beyond `once` also approves other waiting calls that it covers.
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
      `Run ${run.id} has no approval ${requestId}: its timeline has the request_id of each.`,
    );
  }
  const { decided, approval, also } = result;
  if (!decided) throw alreadyEnded(approval);
  if (outcome === 'denied' || scope === 'once' || !POLICY_SCOPES[scope].everyRun) return { approval, also };
  const others = await records.approvals.runsWaiting(run.owner, approval.tool);
  // The decision is final. An approval that this fails to update stays pending and can be decided.
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
  withdrawn: 'was withdrawn, because its caller disconnected or its run completed',
};

function alreadyEnded({ id, status, endedAt, decidedBy }: ApprovalRecord): PortholeError {
  const by = decidedBy === null ? '' : ` by ${decidedBy}`;
  const at = endedAt === null ? '' : ` at ${endedAt.toISOString()}`;
  return new PortholeError(
    'approval_decided',
    `Request ${id} ${ENDED[status]}${by}${at}, which cannot be changed: the agent must ask again.`,
  );
}

/**
 * Deletes a policy: later calls need approval again. Calls that it has approved stay approved.
 * @throws PortholeError `policy_not_found`, also for another owner's policy, to not reveal that it
 * exists
 */
export async function deletePolicy(
  { records }: { readonly records: Pick<Records, 'policies'> },
  person: Person,
  id: string,
): Promise<void> {
  const policy = await records.policies.get(id);
  if (policy !== undefined && mayManage(person, policy) && (await records.policies.delete(id))) return;
  throw new PortholeError('policy_not_found', `There is no policy ${id}`, {
    remedy: 'GET /api/approval-policies lists yours.',
  });
}

/** What an agent wants to do with a tool. */
export interface ToolCall {
  readonly run: RunRecord;
  readonly tool: string;
  readonly args: ToolArguments;
  /** The question to a person. */
  readonly message: string;
  /** Whether the agent itself makes the call. Its rights end with its run. */
  readonly byAgent: boolean;
  /**
   * Whether it allows visitors more than the owner has chosen: no option of the run or of the
   * installation approves that, only a policy of the owner. @default false
   */
  readonly widens?: boolean;
}

export interface GrantBeforehandDeps {
  readonly records: Pick<Records, 'policies' | 'timeline'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly previewSettings: Pick<PreviewOptions, 'autoApprove'>;
}

/**
 * Whether the call is approved in advance, so that no person is asked. Records the reason in the
 * timeline.
 */
export async function grantBeforehand(deps: GrantBeforehandDeps, call: ToolCall): Promise<boolean> {
  const grant = await findGrant(deps, call);
  if (grant === undefined) return false;
  const event = approvedBeforehand({ ...call, id: deps.ids.approval() }, grant);
  await deps.records.timeline.append(call.run.id, [event], deps.clock.now());
  return true;
}

async function findGrant(
  { previewSettings, records }: GrantBeforehandDeps,
  { run, tool, args, widens = false }: ToolCall,
): Promise<Grant | undefined> {
  if (previewSettings.autoApprove && !widens) return { source: 'installation' };
  if (run.autoApproveTools && !widens) return { source: 'run_option' };
  const policy = await records.policies.covering(run.owner, run.id, tool, args);
  return policy && policyGrant(policy);
}
