import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { decideApproval } from '#core/use-cases/decide-approval.ts';
import { askedHost, denyHost } from '#core/use-cases/network/change-network.ts';
import { findRun } from '#core/use-cases/find-run.ts';
import { defineRoute, json } from '../route.ts';
import { RunPath } from '../runs/run-dto.ts';

const OUTCOME = { approve: 'approved', deny: 'denied' } as const;

const Body = z
  .strictObject({
    request_id: z.string().min(1).max(64).describe('From `tool.approval_required` on the timeline'),
    decision: z.enum(['approve', 'deny']),
    scope: z
      .enum(['once', 'port', 'run', 'always'])
      .default('once')
      .describe(
        'How far an approval reaches. `once`: this call. `port`: this port, for the run. `run`: any port of the run. `always`: any port of all runs of its owner. ' +
          'What was denied in a run is asked about again, whatever wider approval follows. A host that is denied `always` goes into the `deny` list of its sandbox',
      ),
    reason: z
      .string()
      .trim()
      .max(500, 'at most 500 characters')
      .optional()
      .describe('The agent gets to read it'),
  })
  .refine(({ decision, scope }) => decision === 'approve' || scope === 'once' || scope === 'always', {
    path: ['scope'],
    message: 'a denial has the scope once, or always where it is about a host',
  })
  .meta({ id: 'ApprovalDecision' });

export const decideApprovalRoute = defineRoute({
  id: 'decideApproval',
  method: 'POST',
  path: '/api/runs/{id}/tool-approvals',
  tag: 'Approvals',
  summary: 'Approve or deny what an agent asks for',
  description: 'For the owner of the run. A decision is taken once: a second one changes nothing.',
  access: 'caller',
  params: RunPath,
  body: Body,
  responses: {
    200: {
      description: 'The decision is taken',
      schema: z
        .object({
          request_id: z.string(),
          decision: z.enum(['approve', 'deny']),
          also_approved: z
            .array(z.string())
            .describe('`request_id` of what else waited and is covered by the approval'),
        })
        .meta({ id: 'DecidedApproval' }),
    },
  },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found', 'approval_not_found', 'approval_decided'],
  async handle({ params, body, caller }, services) {
    const person = requirePerson(caller, 'decide on approvals');
    const run = await findRun(services, person, params.id);
    const isNever = body.decision === 'deny' && body.scope === 'always';
    const host = isNever ? await askedHost(services, run.id, body.request_id) : undefined;
    const { approval, also } = await decideApproval(services, {
      run,
      person,
      requestId: body.request_id,
      outcome: OUTCOME[body.decision],
      scope: isNever ? 'once' : body.scope,
      reason: body.reason === '' ? undefined : body.reason,
    });
    if (host !== undefined) await denyHost(services, run.sandboxId, host);
    return json(200, {
      request_id: approval.id,
      decision: body.decision,
      also_approved: also.map(({ id }) => id),
    });
  },
});
