import { z } from 'zod';
import { accessTo, type Caller, listedOwner, ownerOf } from '#core/callers.ts';
import { recordAgentConnected, rotateAgentToken } from '#core/runs/agent-token.ts';
import { completeRun, createRun, shareRun } from '#core/runs/create-run.ts';
import { findRun } from '#core/runs/find-run.ts';
import { RUN_SORTS, type RunRecord } from '#core/runs/run-records.ts';
import { SHARING } from '#protocol/settings/shared-values.ts';
import type { HttpResponse } from '../http/http-event.ts';
import { filterQuery, listFilterOf, pageQuery, pageResponse, totalField } from '../http/read-input.ts';
import {
  defineRoute,
  json,
  type Method,
  type Route,
  type RouteOptions,
  type RouteRequest,
} from '../route.ts';
import { AccessDto } from '../sandboxes/sandbox-dto.ts';
import { TagFilter } from '../sandboxes/sandbox-schemas.ts';
import type { Services } from '../services.ts';

const SharingDto = z
  .enum(SHARING, `must be one of ${SHARING.join(', ')}`)
  .describe(
    "What the people of the owner's organisation may do: nothing (`private`), read the run, its previews, files and output (`view`), or also work in its sandbox (`work`)",
  );

/**
 * A run for its owner and its agent. Without the agent token: only the call that creates the run
 * returns it.
 */
const RunDto = z
  .object({
    run_id: z.string().describe('`run_` + ULID'),
    owner: z.string().describe('The user who created the run'),
    title: z.string().nullable(),
    sandbox_id: z.string(),
    auto_approve_tools: z.boolean(),
    sharing: SharingDto,
    access: AccessDto,
    status: z.enum(['running', 'completed']),
    created_at: z.iso.datetime(),
    completed_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Run' });

function toRunDto(run: RunRecord, caller: Caller): z.infer<typeof RunDto> {
  return {
    run_id: run.id,
    owner: run.owner.user,
    title: run.title,
    sandbox_id: run.sandboxId,
    auto_approve_tools: run.autoApproveTools,
    sharing: run.sharing,
    access: accessTo(run, caller),
    status: run.status,
    created_at: run.createdAt.toISOString(),
    completed_at: run.completedAt?.toISOString() ?? null,
  };
}

/**
 * Path parameters of the routes below a run. The use case validates the id, with the reference's
 * own error.
 */
export const RunPath = z.object({
  id: z.string().max(200).describe('Run id').meta({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
});

interface RunRouteOptions<Params, Query, Body> extends Omit<RouteOptions<Params, Query, Body>, 'handle'> {
  handle(
    request: RouteRequest<Params, Query, Body>,
    run: RunRecord,
    services: Services,
  ): Promise<HttpResponse>;
}

/** A route of one run, which is found for the caller first. Its default `params` are `RunPath`. */
export function defineRunRoute<
  Params extends z.infer<typeof RunPath> = z.infer<typeof RunPath>,
  Query = unknown,
  Body = unknown,
>(id: string, method: Method, path: string, options: RunRouteOptions<Params, Query, Body>): Route {
  return defineRoute(id, method, path, {
    params: RunPath,
    ...options,
    errors: ['invalid_run_id', 'foreign_run', 'run_not_found', ...(options.errors ?? [])],
    async handle(request: RouteRequest<Params, Query, Body>, services) {
      const { caller, params } = request;
      const run = await findRun(services, caller, params.id, { agents: options.agents === true });
      return options.handle(request, run, services);
    },
  });
}

const completeRunRoute = defineRunRoute('completeRun', 'POST', '/api/runs/{id}/complete', {
  tag: 'Runs',
  summary: 'Complete a run',
  description:
    'Its agent token stops working, and pending approvals are withdrawn. Its sandbox stops and keeps its files, unless another run is active in it or one of its previews is kept. Completing it again changes nothing.',
  responses: { 200: { description: 'The completed run', schema: RunDto } },
  async handle({ caller }, run, services) {
    return json(200, toRunDto(await completeRun(services, run), caller));
  },
});

const Body = z
  .strictObject({
    title: z.string().max(200, 'at most 200 characters').optional(),
    sandbox_id: z.string().max(128).optional().describe('One of your sandboxes. Default: a new one'),
    image: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('Name of an image of the catalogue for the new sandbox. Default: the default image'),
    auto_approve_tools: z.boolean().default(false).describe('Previews of the agent open without approval'),
  })
  .meta({ id: 'CreateRunRequest' });

const createRunRoute = defineRoute('createRun', 'POST', '/api/runs', {
  tag: 'Runs',
  summary: 'Make a run',
  description: "A run is one agent's work in one sandbox. The `agent_token` is returned only here.",
  body: Body,
  responses: {
    201: {
      description: 'The run, with its agent token',
      schema: RunDto.extend({ agent_token: z.string() }).meta({ id: 'CreatedRun' }),
    },
  },
  errors: ['image_not_supported', 'sandbox_not_found', 'quota_exceeded', 'capacity_exceeded'],
  async handle({ body, person, signal }, services) {
    const { title, sandbox_id: sandboxId, image, auto_approve_tools: autoApproveTools } = body;
    const wanted = { title, sandboxId, image, autoApproveTools };
    const { run, agentToken } = await createRun(services, person, wanted, signal);
    return json(201, { ...toRunDto(run, person), agent_token: agentToken });
  },
});

const changeRunRoute = defineRunRoute('changeRun', 'PATCH', '/api/runs/{id}', {
  tag: 'Runs',
  summary: 'Share a run',
  description:
    'Only its owner and admins share a run, answer its agent, complete it and delete its sandbox, whatever `sharing` is. A narrower sharing also ends the terminals and streams that it no longer allows, within 15 seconds.',
  body: z.strictObject({ sharing: SharingDto }).meta({ id: 'ChangeRunRequest' }),
  responses: { 200: { description: 'The run', schema: RunDto } },
  async handle({ body, person }, run, services) {
    return json(200, toRunDto(await shareRun(services, person, run, body.sharing), person));
  },
});

const rotateAgentTokenRoute = defineRunRoute('rotateAgentToken', 'POST', '/api/runs/{id}/agent-token', {
  tag: 'Runs',
  summary: "Rotate a run's agent token",
  description:
    'Returns a new token, valid for 24 hours at most. New requests with the previous one are refused; requests in progress finish. The `porthole` command inside the sandbox has its own token.',
  responses: {
    200: {
      description: 'The new token, returned only here',
      schema: z
        .object({ run_id: z.string(), agent_token: z.string(), expires_at: z.iso.datetime() })
        .meta({ id: 'RotatedAgentToken' }),
    },
  },
  errors: ['run_ended'],
  async handle(_request, run, services) {
    const { agentToken, expiresAt } = await rotateAgentToken(services, run);
    const body = { run_id: run.id, agent_token: agentToken, expires_at: expiresAt.toISOString() };
    return json(200, body, { 'cache-control': 'no-store' });
  },
});

const getRunRoute = defineRunRoute('getRun', 'GET', '/api/runs/{id}', {
  shared: { run: 'view' },
  tag: 'Runs',
  summary: 'Read a run',
  agents: true,
  channel: true,
  responses: { 200: { description: 'The run', schema: RunDto } },
  async handle({ caller }, run, services) {
    if (caller.kind === 'agent') await recordAgentConnected(services, run);
    return json(200, toRunDto(run, caller));
  },
});

const listRunsRoute = defineRoute('listRuns', 'GET', '/api/runs', {
  tag: 'Runs',
  summary: 'List your runs',
  description:
    "Newest first, unless `sort` says otherwise; filters are combined. `query` searches title, id, sandbox and owner. `tag` and `image` are those of the run's sandbox. Admins list the runs of all owners.",
  query: z.object({
    ...pageQuery,
    ...filterQuery,
    status: z.enum(['running', 'completed'], 'must be running or completed').optional(),
    sandbox_id: z.string().max(128).optional(),
    shared: z
      .literal('true', 'must be true')
      .optional()
      .describe('Only runs of others that are shared with your organisation'),
    tag: TagFilter.optional().describe('`key:value`'),
    sort: z
      .enum(RUN_SORTS, `must be one of ${RUN_SORTS.join(', ')}`)
      .default('newest')
      .describe('`title`: in the order of their titles, ignoring the case of A to Z'),
  }),
  responses: pageResponse('runs', RunDto, 'RunList', { total: totalField }),
  async handle({ query, person }, { records }) {
    const sharedWith = query.shared === undefined ? undefined : ownerOf(person);
    const owner = sharedWith === undefined ? listedOwner(person) : undefined;
    const { limit, after, sort, status, sandbox_id: sandboxId } = query;
    const filter = { ...listFilterOf(query), status, sandboxId, sharedWith };
    const [page, total] = await Promise.all([
      records.runs.list(owner, { limit, after }, filter, sort),
      query.count ? records.runs.count(owner, filter) : null,
    ]);
    return json(200, { runs: page.items.map((run) => toRunDto(run, person)), next: page.next, total });
  },
});

/** Of a list of people. */
const MAX_PEOPLE = 1_000;

const listPeopleRoute = defineRoute('listPeople', 'GET', '/api/people', {
  tag: 'Runs',
  summary: 'List the people who have runs here',
  description:
    'Counts your runs and those shared with your organisation; for admins, all runs. Porthole has no list of members: people without such a run are missing.',
  responses: {
    200: {
      description: 'The owner of the newest run first, 1,000 at most',
      schema: z
        .object({
          people: z.array(
            z.object({
              user: z.string(),
              org: z.string(),
              runs: z.int().min(1),
              active_runs: z.int().min(0),
              last_run_at: z.iso.datetime(),
            }),
          ),
        })
        .meta({ id: 'People' }),
    },
  },
  async handle({ person }, { records }) {
    const owners = await records.runs.owners(listedOwner(person), MAX_PEOPLE);
    return json(200, {
      people: owners.map(({ owner, runs, active, lastAt }) => ({
        ...owner,
        runs,
        active_runs: active,
        last_run_at: lastAt.toISOString(),
      })),
    });
  },
});

export const runRoutes = [
  createRunRoute,
  listRunsRoute,
  listPeopleRoute,
  getRunRoute,
  changeRunRoute,
  completeRunRoute,
  rotateAgentTokenRoute,
];
