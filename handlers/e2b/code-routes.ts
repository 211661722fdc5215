/** E2B's code interpreter: its clients send the data plane's headers, with port 49999. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import {
  changeCodeContext,
  createCodeContext,
  deleteCodeContext,
  listCodeContexts,
} from '#core/code/code-contexts.ts';
import { type ReadLine, runCode } from '#core/code/run-code.ts';
import { anySignal } from '#base/concurrency.ts';
import { isSameText } from '#base/same-text.ts';
import { MAX_STREAM_MS } from '../http/event-stream-response.ts';
import type { HttpEvent } from '../http/http-event.ts';
import { defineRoute, ID_PATTERN, json, type Received, type RouteOptions } from '../route.ts';
import { Environment } from '../sandboxes/sandbox-schemas.ts';
import type { Services } from '../services.ts';
import { envd, EnvdPath, fromEnvd, RECEIVED_HEADER } from './envd-options.ts';
import { envdToken } from './envd-token.ts';
import { readyE2bSandbox } from './find-sandbox.ts';

const TRAFFIC_HEADER = 'e2b-traffic-access-token';

/**
 * Calls for contexts have only the token of the sandbox's traffic. It opens the port of the
 * interpreter, so it is worth as much as the other one here.
 */
async function fromInterpreter(event: HttpEvent, services: Services): Promise<Received> {
  const { [TRAFFIC_HEADER]: traffic, ...headers } = event.headers;
  if (traffic === undefined || headers['x-access-token'] !== undefined) return fromEnvd(event);
  const sandbox = await services.records.sandboxes.get(headers[RECEIVED_HEADER] ?? '');
  const isIts = sandbox !== undefined && isSameText(traffic, services.tokens.traffic(sandbox));
  const token = isIts ? await envdToken(services, sandbox) : traffic;
  return fromEnvd({ ...event, headers: { ...headers, 'x-access-token': token } });
}

const interpreter = {
  ...envd,
  class: 'stream',
  delegates: { scope: 'exec' },
  receives: fromInterpreter,
  errors: [...envd.errors, 'code_interpreter_missing', 'server_exists', 'too_many_processes'],
} as const satisfies Partial<RouteOptions>;

const ContextPath = EnvdPath.extend({ context: z.string().max(400).meta({ pattern: ID_PATTERN }) });
const oneContext = {
  ...interpreter,
  params: ContextPath,
  errors: [...interpreter.errors, 'context_not_found'],
} as const satisfies Partial<RouteOptions>;

const Language = z.string().max(40).nullish();

const ExecuteBody = z.strictObject({
  code: z.string('must be a string'),
  context_id: z.string().max(64).nullish(),
  language: Language,
  env_vars: Environment.nullish(),
});

const executeRoute = defineRoute('e2bExecute', 'POST', '/e2b/envd/execute', {
  ...interpreter,
  summary: 'Run code',
  body: ExecuteBody,
  streams: true,
  responses: { 200: { description: 'Lines of JSON', contentType: 'application/x-ndjson' } },
  errors: [...interpreter.errors, 'context_not_found'],
  async handle({ params, body, caller, signal }, services) {
    const { id } = await readyE2bSandbox(services, caller, params.id);
    const over = anySignal(AbortSignal.timeout(MAX_STREAM_MS), services.stopping, signal);
    const lines = await runCode(
      services,
      { caller, sandboxId: id, signal: over },
      {
        code: body.code,
        contextId: body.context_id ?? undefined,
        language: body.language ?? undefined,
        env: body.env_vars ?? undefined,
      },
    );
    return {
      statusCode: 200,
      headers: {
        'content-type': 'application/x-ndjson',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      },
      // A failure cuts the connection: clients then ask whether the sandbox still runs.
      body: Readable.from(texts(lines)),
    };
  },
});

async function* texts(lines: AsyncIterable<ReadLine>): AsyncGenerator<string, void, undefined> {
  for await (const { text } of lines) yield `${text}\n`;
  yield '{"type":"end_of_execution"}\n';
}

const listRoute = defineRoute('e2bListContexts', 'GET', '/e2b/envd/contexts', {
  ...interpreter,
  summary: 'List code contexts',
  responses: { 200: { description: 'The contexts', schema: z.array(z.unknown()) } },
  async handle({ params, caller, signal }, services) {
    const { id } = await readyE2bSandbox(services, caller, params.id);
    return json(200, await listCodeContexts(services, { caller, sandboxId: id, signal }));
  },
});

const createRoute = defineRoute('e2bCreateContext', 'POST', '/e2b/envd/contexts', {
  ...interpreter,
  summary: 'Create a code context',
  body: z.strictObject({ language: Language, cwd: z.string().max(4_096).nullish() }),
  responses: { 200: { description: 'The context', schema: z.unknown() } },
  async handle({ params, body, caller, signal }, services) {
    const { id } = await readyE2bSandbox(services, caller, params.id);
    const wanted = { language: body.language ?? undefined, cwd: body.cwd ?? undefined };
    return json(200, await createCodeContext(services, { caller, sandboxId: id, signal }, wanted));
  },
});

const deleteRoute = defineRoute('e2bDeleteContext', 'DELETE', '/e2b/envd/contexts/{context}', {
  ...oneContext,
  summary: 'Delete a code context',
  responses: { 204: { description: 'Deleted' } },
  async handle({ params, caller, signal }, services) {
    const { id } = await readyE2bSandbox(services, caller, params.id);
    await deleteCodeContext(services, { caller, sandboxId: id, signal }, params.context);
    return { statusCode: 204, headers: {} };
  },
});

const restartRoute = defineRoute('e2bRestartContext', 'POST', '/e2b/envd/contexts/{context}/restart', {
  ...oneContext,
  summary: 'Restart a code context',
  responses: { 204: { description: 'Restarted' } },
  async handle({ params, caller, signal }, services) {
    const { id } = await readyE2bSandbox(services, caller, params.id);
    await changeCodeContext(services, { caller, sandboxId: id, signal }, params.context, 'restart');
    return { statusCode: 204, headers: {} };
  },
});

export const e2bCodeRoutes = [executeRoute, listRoute, createRoute, deleteRoute, restartRoute];
