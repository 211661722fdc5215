import type { ApprovalRecord, PolicyRecord, PolicySource, ToolArguments } from './approval-store.ts';
import type { NewEvent, RunEventType } from '../runs/timeline.ts';
import { scopeOf } from './approval-scopes.ts';

/** The short form of a request id: its last 8 characters. Not necessarily unique. */
export function displayId(approvalId: string): string {
  return approvalId.slice(-8);
}

/** A person must decide. */
export function approvalRequired(approval: ApprovalRecord): NewEvent {
  return {
    type: 'tool.approval_required',
    key: `asked:${approval.id}`,
    data: {
      ...subject(approval),
      message: approval.message,
      expires_at: approval.expiresAt.toISOString(),
    },
  };
}

const ENDED: Readonly<Record<Exclude<ApprovalRecord['status'], 'waiting'>, RunEventType>> = {
  approved: 'tool.approved',
  denied: 'tool.denied',
  timed_out: 'tool.timed_out',
  withdrawn: 'tool.withdrawn',
};

/** How a request ended. All outcomes share one key, so a timeline records only one of them. */
export function approvalEnded(approval: ApprovalRecord): NewEvent {
  const { status, source, scope, decidedBy, reason } = approval;
  if (status === 'waiting') throw new TypeError(`approval ${approval.id} still waits`);
  return {
    type: ENDED[status],
    key: `answered:${approval.id}`,
    data: {
      ...subject(approval),
      ...(source === null ? {} : { source }),
      ...(scope === null ? {} : { scope }),
      ...(decidedBy === null ? {} : { decided_by: decidedBy }),
      ...(reason === null ? {} : { reason }),
    },
  };
}

/** What approves a call without asking a person. */
export type Grant =
  | { readonly source: 'installation' | 'run_option' }
  | { readonly source: PolicySource; readonly policyId: string };

export function policySource(policy: PolicyRecord): PolicySource {
  return `${scopeOf(policy)}_policy`;
}

export function policyGrant(policy: PolicyRecord): Grant {
  return { source: policySource(policy), policyId: policy.id };
}

/** The call was approved in advance, without asking a person. */
export function approvedBeforehand(
  call: { readonly id: string; readonly tool: string; readonly args: ToolArguments },
  grant: Grant,
): NewEvent {
  return {
    type: 'tool.approved',
    key: `answered:${call.id}`,
    data: {
      ...subject(call),
      source: grant.source,
      ...('policyId' in grant ? { policy_id: grant.policyId } : {}),
    },
  };
}

function subject({ id, tool, args }: Pick<ApprovalRecord, 'id' | 'tool' | 'args'>) {
  return { request_id: id, display_id: displayId(id), tool, ...args };
}
