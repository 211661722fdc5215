import type {
  ApprovalRecord,
  ApprovalRequest,
  PolicyRecord,
  ToolArguments,
} from '#core/approvals/approval-store.ts';
import { instantText } from './sql-dialect.ts';
import type { Row } from './schema.ts';

/** Equal arguments give equal texts, whatever the order of their names. */
export function argumentsText(args: ToolArguments): string {
  return JSON.stringify(Object.fromEntries(Object.entries(args).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

export function waitingRow(request: ApprovalRequest): Row<'approvals'> {
  return {
    id: request.id,
    run_id: request.runId,
    tool: request.tool,
    args: argumentsText(request.args),
    message: request.message,
    status: 'waiting',
    requested_at: instantText(request.requestedAt),
    expires_at: instantText(request.expiresAt),
    ended_at: null,
    source: null,
    decided_by: null,
    scope: null,
    reason: null,
    taken_at: null,
  };
}

export function toApproval(row: Row<'approvals'>): ApprovalRecord {
  return {
    id: row.id,
    runId: row.run_id,
    tool: row.tool,
    args: JSON.parse(row.args) as ToolArguments,
    message: row.message,
    status: row.status,
    requestedAt: new Date(row.requested_at),
    expiresAt: new Date(row.expires_at),
    endedAt: row.ended_at === null ? null : new Date(row.ended_at),
    source: row.source,
    decidedBy: row.decided_by,
    scope: row.scope,
    reason: row.reason,
    takenAt: row.taken_at === null ? null : new Date(row.taken_at),
  };
}

export function toPolicy(row: Row<'approval_policies'>): PolicyRecord {
  return {
    id: row.id,
    owner: { user: row.owner_user, org: row.owner_org },
    tool: row.tool,
    runId: row.run_id === '' ? null : row.run_id,
    targetPort: row.target_port === 0 ? null : row.target_port,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
  };
}
