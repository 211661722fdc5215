import { z } from 'zod';
import {
  changeCodeContext,
  createCodeContext,
  deleteCodeContext,
  listCodeContexts,
} from '#core/code/code-contexts.ts';
import { collectCode } from '#core/code/collect-code.ts';
import { type ReadLine, runCode } from '#core/code/run-code.ts';
import type { CodeLine } from '#protocol/guest/code-protocol.ts';
import { anySignal } from '#base/concurrency.ts';
import { errorFrame, eventStream, frame, MAX_STREAM_MS, QUIET_FRAME } from '../http/event-stream-response.ts';
import { prefers } from '../http/response-headers.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import { Environment } from '../sandboxes/sandbox-schemas.ts';
import { timeout } from './process-dto.ts';

const DEFAULT_MS = 60_000;

const contextId = z
  .string('must be a string')
  .regex(/^[\w-]{1,64}$/, 'must be the id of a context')
  .meta({ example: 'python' });
const language = z
  .string('must be a string')
  .min(1, 'must not be empty')
  .max(40, 'must be at most 40 characters')
  .describe('python, javascript, typescript or bash. Default: python');

const CodeBody = z
  .strictObject({
    code: z.string('must be a string').meta({ example: 'x = 20\nx + 1' }),
    context: contextId.optional().describe('Default: the default context of the language'),
    language: language.optional(),
    env: Environment.optional().describe('Variables of this run'),
    timeout_ms: timeout(MAX_STREAM_MS)
      .min(1, 'must be at least 1')
      .default(DEFAULT_MS)
      .describe('Then it is interrupted'),
  })
  .refine(
    (body) => body.context === undefined || body.language === undefined,
    'takes one of context and language',
  )
  .meta({ id: 'CodeRequest' });

const Result = z
  .object({
    is_main_result: z.boolean().describe('Whether it is the value of the last expression'),
    text: z.string().optional(),
    html: z.string().optional(),
    markdown: z.string().optional(),
    svg: z.string().optional(),
    png: z.string().optional().describe('Base64, as jpeg and pdf'),
    jpeg: z.string().optional(),
    pdf: z.string().optional(),
    latex: z.string().optional(),
    json: z.unknown().optional(),
    javascript: z.string().optional(),
    data: z.record(z.string(), z.unknown()).optional().describe('The columns of a table'),
    chart: z.record(z.string(), z.unknown()).optional().describe('What a chart shows'),
    extra: z.record(z.string(), z.unknown()).optional().describe('Other media types'),
  })
  .meta({ id: 'CodeResult' });

const Exception = z
  .object({ name: z.string(), value: z.string(), traceback: z.string() })
  .meta({ id: 'CodeException' });

const Collected = z
  .object({
    execution_count: z.number().int().nullable(),
    stdout: z.string().describe('Its first MiB'),
    stderr: z.string().describe('The same'),
    results: z.array(Result).describe('Of at most 16 MiB together'),
    exception: Exception.nullable().describe('What the code threw, or why it was ended'),
    truncated: z.boolean().describe('Whether more output was dropped'),
  })
  .meta({ id: 'CodeRun' });

const ContextDto = z
  .object({ id: z.string(), language: z.string(), cwd: z.string() })
  .meta({ id: 'CodeContext' });

const ContextPath = SandboxPath.extend({ context: z.string().max(400).meta({ pattern: '^[\\w-]{1,64}$' }) });

const code = {
  shared: { sandbox: 'work' },
  tag: 'Code',
  class: 'stream',
  agents: true,
  // Code is any command, so a delegate with a list of commands is refused.
  delegates: { scope: 'exec' },
  errors: [...GUEST_ERRORS, 'code_interpreter_missing', 'server_exists', 'too_many_processes'],
} as const satisfies Partial<Route>;

const oneContext = {
  ...code,
  params: ContextPath,
  errors: [...code.errors, 'context_not_found'],
} as const satisfies Partial<Route>;

const runCodeRoute = defineRoute('runCode', 'POST', '/v1/sandbox/{id}/code', {
  ...code,
  summary: 'Run code',
  description:
    'In a context, which keeps its variables. Server-sent events, each of JSON: `started` `{"execution_count"}`, `stdout` and `stderr` `{"text"}`, `result`, `exception` `{"name", "value", "traceback"}`, then exactly one of `end` `{}` and `error` `{"error", "code"}`. ' +
    'A client that prefers `application/json` gets one JSON response at the end. When the client goes away, the code is interrupted. Runs of one context wait for each other.',
  params: SandboxPath,
  body: CodeBody,
  responses: {
    200: {
      description: 'The events of the run, or its result',
      contentType: 'text/event-stream',
      schema: Collected,
    },
  },
  streams: true,
  errors: [...code.errors, 'context_not_found'],
  async handle({ params, body, headers, caller, signal }, services) {
    const over = anySignal(services.stopping, signal);
    const ref = { caller, sandboxId: params.id, signal: over };
    const { context, timeout_ms: timeoutMs, ...rest } = body;
    const lines = await runCode(services, ref, { ...rest, contextId: context, timeoutMs });
    const vary = { vary: 'accept' };
    if (prefers(headers['accept'], 'application/json', 'text/event-stream')) {
      const { executionCount, ...collected } = await collectCode(lines);
      return json(200, { execution_count: executionCount, ...collected }, vary);
    }
    return eventStream(frames(lines, over), vary);
  },
});

async function* frames(lines: AsyncIterable<ReadLine>, over: AbortSignal): AsyncGenerator<string> {
  try {
    for await (const { line } of lines) yield toFrame(line);
    yield frame('end', '{}');
  } catch (error) {
    if (!over.aborted) yield errorFrame(error, 'run the code again.');
  }
}

function toFrame(line: CodeLine): string {
  if (line.type === 'number_of_executions') {
    return frame('started', JSON.stringify({ execution_count: line.execution_count }));
  }
  if (line.type === 'stdout' || line.type === 'stderr') {
    return frame(line.type, JSON.stringify({ text: line.text }));
  }
  if (line.type === 'error') {
    const { name, value, traceback } = line;
    return frame('exception', JSON.stringify({ name, value, traceback }));
  }
  if (line.type !== 'result') return QUIET_FRAME;
  const { type, ...result } = line;
  return frame(type, JSON.stringify(result));
}

const listContextsRoute = defineRoute('listCodeContexts', 'GET', '/v1/sandbox/{id}/code/contexts', {
  ...code,
  summary: 'List code contexts',
  description: 'Those of `python` and `javascript` are there from the start. A stopped sandbox is resumed.',
  params: SandboxPath,
  responses: {
    200: {
      description: 'The contexts',
      schema: z.object({ contexts: z.array(ContextDto) }).meta({ id: 'CodeContextList' }),
    },
  },
  async handle({ params, caller, signal }, services) {
    const contexts = await listCodeContexts(services, { caller, sandboxId: params.id, signal });
    return json(200, { contexts });
  },
});

const createContextRoute = defineRoute('createCodeContext', 'POST', '/v1/sandbox/{id}/code/contexts', {
  ...code,
  summary: 'Create a code context',
  description: 'A sandbox has at most 20.',
  params: SandboxPath,
  body: z
    .strictObject({
      language: language.optional(),
      cwd: z
        .string('must be a string')
        .min(1, 'must not be empty')
        .max(4_096, 'must be at most 4096 characters')
        .optional()
        .describe('A folder of the sandbox. Default: /home/user, which is /workspace'),
    })
    .meta({ id: 'CodeContextRequest', example: { language: 'python' } }),
  responses: { 201: { description: 'The context', schema: ContextDto } },
  async handle({ params, body, caller, signal }, services) {
    return json(201, await createCodeContext(services, { caller, sandboxId: params.id, signal }, body));
  },
});

const deleteContextRoute = defineRoute(
  'deleteCodeContext',
  'DELETE',
  '/v1/sandbox/{id}/code/contexts/{context}',
  {
    ...oneContext,
    summary: 'Delete a code context',
    responses: { 204: { description: 'Deleted, with its variables' } },
    async handle({ params, caller, signal }, services) {
      await deleteCodeContext(services, { caller, sandboxId: params.id, signal }, params.context);
      return { statusCode: 204, headers: {} };
    },
  },
);

function changeRoute(
  id: string,
  change: 'restart' | 'interrupt',
  summary: string,
  description: string,
): Route {
  return defineRoute(id, 'POST', `/v1/sandbox/{id}/code/contexts/{context}/${change}`, {
    ...oneContext,
    summary,
    description,
    responses: { 204: { description: 'Done' } },
    async handle({ params, caller, signal }, services) {
      const ref = { caller, sandboxId: params.id, signal };
      await changeCodeContext(services, ref, params.context, change);
      return { statusCode: 204, headers: {} };
    },
  });
}

export const codeRoutes = [
  runCodeRoute,
  listContextsRoute,
  createContextRoute,
  deleteContextRoute,
  changeRoute('restartCodeContext', 'restart', 'Restart a code context', 'Its variables are lost.'),
  changeRoute(
    'interruptCodeContext',
    'interrupt',
    'Interrupt a code context',
    'What runs there ends with an exception. Python and bash keep their variables; JavaScript starts again.',
  ),
];
