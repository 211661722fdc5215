import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import {
  changeServer,
  getStarted,
  listServers,
  putServer,
  removeStarted,
  type StartedRef,
} from '#core/processes/sandbox-processes.ts';
import { RESTARTS } from '#protocol/guest/servers-protocol.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import { cursorOf, OUTPUT_DESCRIPTION, outputQuery, outputResponse } from './output-stream.ts';
import {
  ONE_RUNNABLE,
  oneRunnable,
  runnable,
  ServerDto,
  ServerListDto,
  ServerPath,
  toRunnable,
} from './process-dto.ts';
import { checkRunnable } from './process-routes.ts';

const ReadinessDto = z
  .strictObject({
    http: z
      .string('must be a string')
      .max(2_048, 'must be at most 2048 characters')
      .startsWith('/', 'must be a path')
      .optional()
      .describe('A path on the port that answers below 400'),
    log: z
      .string('must be a string')
      .min(1, 'must not be empty')
      .max(2_048, 'must be at most 2048 characters')
      .optional()
      .describe('A line of its output contains this'),
    timeout_ms: z
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(3_600_000, 'must be at most 3600000')
      .optional()
      .describe('Then it is failed. Default: 60000. It keeps running, and may become ready'),
  })
  .refine(({ http, log }) => http === undefined || log === undefined, 'takes one of http and log')
  .meta({ id: 'Readiness' });

const ServerRequestDto = z
  .strictObject({
    ...runnable,
    port: z
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(65_535, 'must be at most 65535')
      .optional()
      .describe('Where it listens; it gets it as PORT'),
    restart: z.enum(RESTARTS).optional().describe('Default: on-failure'),
    readiness: ReadinessDto.optional().describe('Default: its port listens; without a port: it runs'),
  })
  .refine(oneRunnable, ONE_RUNNABLE)
  .refine(
    ({ readiness, port }) => readiness?.http === undefined || port !== undefined,
    'readiness.http takes a port',
  )
  .meta({ id: 'ServerRequest', example: { argv: ['npm', 'run', 'dev'], port: 3000, restart: 'always' } });

/** What the routes of one server have in common. */
const one = {
  tag: 'Servers',
  agents: true,
  delegates: { scope: 'exec', enforces: 'commands' },
  params: ServerPath,
  errors: [...GUEST_ERRORS, 'server_not_found'],
} as const satisfies Partial<Route>;

const viewed = { ...one, shared: { sandbox: 'view' } } as const;
const changed = { ...one, shared: { sandbox: 'work' } } as const;

function refOf({
  params: { id, name },
  caller,
  signal,
}: {
  readonly params: { readonly id: string; readonly name: string };
  readonly caller: Caller;
  readonly signal: AbortSignal | undefined;
}): StartedRef<'servers'> {
  return { caller, sandboxId: id, kind: 'servers', id: name, signal };
}

const putServerRoute = defineRoute('putServer', 'PUT', '/v1/sandbox/{id}/servers/{name}', {
  ...changed,
  summary: 'Declare a server',
  description:
    'Starts it, and starts it again after its exit (`restart`), after a resume, a restart of the host and a replacement of its pod. The same declaration again starts it if it does not run; another one under the name is 409: delete the first. A stopped sandbox is resumed. A server does not keep its sandbox from idling.',
  body: ServerRequestDto,
  responses: {
    200: { description: 'Already declared', schema: ServerDto },
    201: { description: 'Declared', schema: ServerDto },
  },
  errors: [...GUEST_ERRORS, 'server_exists', 'path_outside_workspace', 'too_many_processes'],
  async handle(request, services) {
    const { caller, body } = request;
    checkRunnable(caller, body);
    const asked = toRunnable(body) as Parameters<typeof putServer>[2];
    const { server, isNew } = await putServer(services, refOf(request), asked);
    return json(isNew ? 201 : 200, server);
  },
});

const listServersRoute = defineRoute('listServers', 'GET', '/v1/sandbox/{id}/servers', {
  ...viewed,
  summary: 'List servers',
  params: SandboxPath,
  responses: { 200: { description: 'The servers, by name', schema: ServerListDto } },
  errors: GUEST_ERRORS,
  async handle({ params, caller, signal }, services) {
    return json(200, { servers: await listServers(services, { caller, sandboxId: params.id, signal }) });
  },
});

const getServerRoute = defineRoute('getServer', 'GET', '/v1/sandbox/{id}/servers/{name}', {
  ...viewed,
  summary: 'Get a server',
  responses: { 200: { description: 'The server', schema: ServerDto } },
  async handle(request, services) {
    return json(200, await getStarted(services, refOf(request)));
  },
});

const deleteServerRoute = defineRoute('deleteServer', 'DELETE', '/v1/sandbox/{id}/servers/{name}', {
  ...changed,
  summary: 'Remove a server',
  description: 'Stops it, and removes its declaration and its logs.',
  responses: { 204: { description: 'Removed' } },
  async handle(request, services) {
    await removeStarted(services, refOf(request));
    return { statusCode: 204, headers: {} };
  },
});

const startServerRoute = changeRoute(
  'start',
  'Start a server',
  'A running server is not restarted. A stopped sandbox is resumed.',
);
const stopServerRoute = changeRoute(
  'stop',
  'Stop a server',
  'SIGTERM to its group, SIGKILL 4 s later. It stays declared, and stopped over a resume.',
);
const restartServerRoute = changeRoute('restart', 'Restart a server', 'A stopped sandbox is resumed.');

/** Returns at once: the state shows the progress. */
function changeRoute(change: 'start' | 'stop' | 'restart', summary: string, description: string): Route {
  return defineRoute(`${change}Server`, 'POST', `/v1/sandbox/{id}/servers/{name}/${change}`, {
    ...changed,
    summary,
    description,
    responses: { 200: { description: 'The server', schema: ServerDto } },
    async handle(request, services) {
      return json(200, await changeServer(services, refOf(request), change));
    },
  });
}

const followServerRoute = defineRoute('followServer', 'GET', '/v1/sandbox/{id}/servers/{name}/logs', {
  ...viewed,
  class: 'stream',
  summary: 'Read the logs of a server',
  description: `${OUTPUT_DESCRIPTION} One log for all its starts: an \`exit\` is an event among others.`,
  query: outputQuery.extend({
    tail: z
      .string()
      .regex(/^\d{1,4}$/, 'must be a number of lines, at most 9999')
      .transform(Number)
      .optional()
      .describe('Begins so many lines before the end'),
  }),
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  async handle(request, services) {
    const { query, headers } = request;
    const range = { ...query, since: cursorOf(headers, query.since) };
    return outputResponse(services, refOf(request), range);
  },
});

export const serverRoutes = [
  putServerRoute,
  listServersRoute,
  getServerRoute,
  deleteServerRoute,
  startServerRoute,
  stopServerRoute,
  restartServerRoute,
  followServerRoute,
];
