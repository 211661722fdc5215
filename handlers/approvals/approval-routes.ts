import { z } from 'zod';
import { type DecidedApproval, decideApproval } from '#core/approvals/approval-decisions.ts';
import { displayId } from '#core/approvals/approval-events.ts';
import { APPROVAL_SCOPE_HELP, APPROVAL_SCOPE_NAMES } from '#core/approvals/approval-scopes.ts';
import type { WaitingApproval } from '#core/approvals/approval-store.ts';
import { type FollowWaiting, MAX_WAITING } from '#core/approvals/pending-approvals.ts';
import { type Caller, listedOwner, requirePerson } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { askedHost, denyHost } from '#core/network/change-network.ts';
import { findRun } from '#core/runs/find-run.ts';
import { ACCESS_LEVELS } from '#protocol/preview-access.ts';
import {
  eventStream,
  FIRST_FRAME,
  followingOf,
  frame,
  NUMBERED,
  QUIET_FRAME,
} from '../http/event-stream-response.ts';
import { defineRoute, json } from '../route.ts';
import type { Services } from '../services.ts';
import { RunPath } from '../runs/run-routes.ts';

const OUTCOME = { approve: 'approved', deny: 'denied' } as const;

export const DecisionBody = z
  .strictObject({
    request_id: z.string().min(1).max(64).describe('From `tool.approval_required` on the timeline'),
    decision: z.enum(['approve', 'deny']),
    scope: z
      .enum(APPROVAL_SCOPE_NAMES)
      .default('once')
      .describe(
        `How far an approval reaches. ${APPROVAL_SCOPE_HELP} ` +
          'A denied request of a run is asked again, even after a wider approval. A host that is denied `always` goes into the `deny` list of its sandbox',
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

/** @throws PortholeError `forbidden` for agents, `approval_not_found`, `approval_decided` */
export async function decide(
  services: Services,
  caller: Caller,
  runId: string,
  body: z.output<typeof DecisionBody>,
): Promise<DecidedApproval> {
  const person = requirePerson(caller, 'decide on approvals');
  // MCP's tools are one route, which agents have as well.
  if (person.key?.scope === 'agent') {
    throw new PortholeError('forbidden', 'A key with the scope agent cannot decide on approvals', {
      remedy: 'decide in the console, or with a key with the scope full.',
    });
  }
  const run = await findRun(services, person, runId);
  const isNever = body.decision === 'deny' && body.scope === 'always';
  const host = isNever ? await askedHost(services, run.id, body.request_id) : undefined;
  const decided = await decideApproval(services, {
    run,
    person,
    requestId: body.request_id,
    outcome: OUTCOME[body.decision],
    scope: isNever ? 'once' : body.scope,
    reason: body.reason === '' ? undefined : body.reason,
  });
  if (host !== undefined) await denyHost(services, run.sandboxId, host);
  return decided;
}

const decideApprovalRoute = defineRoute('decideApproval', 'POST', '/api/runs/{id}/tool-approvals', {
  tag: 'Approvals',
  summary: 'Approve or deny a request of an agent',
  description: 'For the owner of the run. Only the first decision counts.',
  params: RunPath,
  body: DecisionBody,
  responses: {
    200: {
      description: 'Decided',
      schema: z
        .object({
          request_id: z.string(),
          decision: z.enum(['approve', 'deny']),
          also_approved: z
            .array(z.string())
            .describe('`request_id` of the other pending requests that the approval covers'),
        })
        .meta({ id: 'DecidedApproval' }),
    },
  },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found', 'approval_not_found', 'approval_decided'],
  async handle({ params, body, caller }, services) {
    const { approval, also } = await decide(services, caller, params.id, body);
    return json(200, {
      request_id: approval.id,
      decision: body.decision,
      also_approved: also.map(({ id }) => id),
    });
  },
});

const WaitingApprovalDto = z
  .object({
    request_id: z.string().describe('Names it in a decision'),
    display_id: z.string().describe('Short id for people'),
    run_id: z.string(),
    run_title: z.string().nullable(),
    owner: z.string().describe('The owner of the run'),
    tool: z.string(),
    arguments: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    level: z
      .enum(ACCESS_LEVELS)
      .nullable()
      .describe('Who will be able to open the preview; null if the request is not about one'),
    message: z.string().describe('What the agent asks'),
    requested_at: z.iso.datetime(),
    expires_at: z.iso.datetime().describe('Deadline for the decision'),
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
      level: ACCESS_LEVELS.find((level) => level === each.args['level']) ?? null,
      message: each.message,
      requested_at: each.requestedAt.toISOString(),
      expires_at: each.expiresAt.toISOString(),
    })),
  };
}

const followApprovalsRoute = defineRoute('followApprovals', 'GET', '/api/approvals/events', {
  tag: 'Approvals',
  summary: 'Follow your pending approvals, in all of your runs',
  description:
    'Server-sent events of the type `approvals`: all pending ones, at once and after each change, as in `GET /api/approvals`. A comment comes ' +
    'every 15 seconds without an event. The stream ends after an hour: reconnect.',
  class: 'stream',
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  handle({ person, signal }, services) {
    const following = followingOf(services, '', NUMBERED, {
      caller: person,
      headers: {},
      query: undefined,
      signal,
    });
    return Promise.resolve(eventStream(frames(services, { ...following, owner: listedOwner(person) })));
  },
});

async function* frames(services: Services, following: FollowWaiting): AsyncGenerator<string, void> {
  yield FIRST_FRAME;
  for await (const waiting of services.pendingApprovals.follow(following)) {
    yield waiting === undefined
      ? QUIET_FRAME
      : frame('approvals', JSON.stringify(toWaitingApprovals(waiting)));
  }
}

const listApprovalsRoute = defineRoute('listApprovals', 'GET', '/api/approvals', {
  tag: 'Approvals',
  summary: 'List your pending approvals, in all of your runs',
  responses: { 200: { description: 'What waits now', schema: WaitingApprovals } },
  async handle({ person }, { records, clock }) {
    const waiting = await records.approvals.waiting(listedOwner(person), clock.now(), MAX_WAITING);
    return json(200, toWaitingApprovals(waiting));
  },
});

export const approvalRoutes = [decideApprovalRoute, listApprovalsRoute, followApprovalsRoute];
