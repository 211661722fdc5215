import type {
  ApprovalRecord,
  ApprovalRequest,
  PolicyRecord,
  ToolArguments,
} from '#core/approvals/approval-store.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row } from './schema.ts';

/** Equal arguments give equal texts, whatever the order of their names. */
export function argumentsText(args: ToolArguments): string {
  return JSON.stringify(Object.fromEntries(Object.entries(args).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

export function waitingRow(request: ApprovalRequest): Row<'approvals'> {
  return {
    ...columnsOf(request, ['id', 'runId', 'tool', 'message', 'requestedAt', 'expiresAt']),
    args: argumentsText(request.args),
    status: 'waiting',
    ended_at: null,
    source: null,
    decided_by: null,
    scope: null,
    reason: null,
    taken_at: null,
  };
}

export function toApproval(row: Row<'approvals'>): ApprovalRecord {
  return { ...fieldsOf(row), args: JSON.parse(row.args) as ToolArguments };
}

export function toPolicy(row: Row<'approval_policies'>): PolicyRecord {
  return { ...fieldsOf(row), runId: row.run_id || null, targetPort: row.target_port || null };
}
