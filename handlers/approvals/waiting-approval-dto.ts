import { z } from 'zod';
import type { WaitingApproval } from '#core/ports/approvals.ts';
import { displayId } from '#core/rules/approval-events.ts';

const WaitingApprovalDto = z
  .object({
    request_id: z.string().describe('Names it in a decision'),
    display_id: z.string().describe('What people call it among each other'),
    run_id: z.string(),
    run_title: z.string().nullable(),
    owner: z.string().describe('The user whose run it is'),
    tool: z.string(),
    arguments: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    message: z.string().describe('What the agent asks'),
    requested_at: z.iso.datetime(),
    expires_at: z.iso.datetime().describe('Until then somebody may decide'),
  })
  .meta({ id: 'WaitingApproval' });

export const WaitingApprovals = z
  .object({ approvals: z.array(WaitingApprovalDto).describe('The oldest first, 100 at most') })
  .meta({ id: 'WaitingApprovals' });

export function toWaitingApprovals(waiting: readonly WaitingApproval[]): z.infer<typeof WaitingApprovals> {
  return {
    approvals: waiting.map((each) => ({
      request_id: each.id,
      display_id: displayId(each.id),
      run_id: each.runId,
      run_title: each.runTitle,
      owner: each.owner.user,
      tool: each.tool,
      arguments: { ...each.args },
      message: each.message,
      requested_at: each.requestedAt.toISOString(),
      expires_at: each.expiresAt.toISOString(),
    })),
  };
}
