import { z } from 'zod';
import { APPROVAL_SCOPE_HELP } from '#core/approvals/approval-scopes.ts';
import { listedOwner, requirePerson } from '#core/callers.ts';
import { plainText } from '#base/plain-text.ts';
import {
  decide,
  DecisionBody,
  toWaitingApprovals,
  WaitingApprovals,
} from '../../approvals/approval-routes.ts';
import { defineTool, fitting } from '../mcp-tool.ts';

/** Requests of an answer, and characters of their JSON. */
const MAX_SHOWN = 30;
const MAX_JSON_CHARS = 30_000;

export const listApprovalsTool = defineTool({
  name: 'list_approvals',
  title: 'List what waits for approval',
  description:
    'What agents ask the person of this key to approve, in all of their runs. Show it to the person before decide_approval.',
  people: true,
  input: z.strictObject({}),
  output: WaitingApprovals.extend({ is_cut: z.boolean().describe('More wait: decide these first') }),
  annotations: { readOnlyHint: true },
  async run(_, { services: { records, clock }, caller }) {
    const person = requirePerson(caller, 'list what waits for approval');
    const owner = listedOwner(person);
    const waiting = await records.approvals.waiting(owner, clock.now(), MAX_SHOWN + 1);
    const all = toWaitingApprovals(waiting).approvals;
    const approvals = fitting(all.slice(0, MAX_SHOWN), MAX_JSON_CHARS);
    const data = { approvals, is_cut: approvals.length < all.length };
    const lines = approvals.map(
      ({ request_id, run_id, message }) => `${request_id} in run ${run_id}: ${plainText(message, 300)}`,
    );
    if (data.is_cut) lines.push('… and more');
    return { data, text: lines.length === 0 ? 'Nothing waits for approval.' : lines.join('\n') };
  },
});

export const decideApprovalTool = defineTool({
  name: 'decide_approval',
  title: 'Approve or deny a request',
  description:
    'Pass on what the person of this key decided about a request of list_approvals. Never decide it yourself: ask the person first.',
  people: true,
  input: z.strictObject({
    run_id: z.string().max(200),
    ...DecisionBody.shape,
    scope: DecisionBody.shape.scope.describe(APPROVAL_SCOPE_HELP),
  }),
  output: z.object({ request_id: z.string(), decision: z.enum(['approve', 'deny']) }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  async run({ run_id, ...body }, { services, caller }) {
    const { approval } = await decide(services, caller, run_id, DecisionBody.parse(body));
    const how = body.decision === 'approve' ? 'approved' : 'denied';
    return { data: { request_id: approval.id, decision: body.decision }, text: `The request is ${how}.` };
  },
});
