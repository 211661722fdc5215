import type { ApprovalRecord, PolicyRecord, PolicySource, ToolArguments } from './approval-store.ts';
import type { NewEvent, RunEventType } from '../runs/timeline.ts';
import { scopeOf } from './approval-rules.ts';

/** What people call a request among each other: the end of its id. It need not be unique. */
export function displayId(approvalId: string): string {
  return approvalId.slice(-8);
}

/** Somebody must be asked. */
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

/** How a request ended. One key whatever the end, so that no timeline can tell two of them. */
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

/** What grants a call without a question. */
export type Grant =
  | { readonly source: 'installation' | 'run_option' }
  | { readonly source: PolicySource; readonly policyId: string };

export function policySource(policy: PolicyRecord): PolicySource {
  return `${scopeOf(policy)}_policy`;
}

export function policyGrant(policy: PolicyRecord): Grant {
  return { source: policySource(policy), policyId: policy.id };
}

/** Nobody was asked, because something had approved it beforehand. */
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
