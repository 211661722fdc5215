import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { checkCommand } from '#core/delegations/delegation-store.ts';
import {
  getStarted,
  listProcesses,
  removeStarted,
  resizeProcess,
  sendInput,
  signalProcess,
  type StartedRef,
  startProcess,
  waitForProcess,
} from '#core/processes/sandbox-processes.ts';
import { SIGNALS } from '#protocol/guest/exec-protocol.ts';
import { OUTPUT_BYTES, processName, WAIT_MS } from '#protocol/guest/processes-protocol.ts';
import { limitedStream } from '../http/limited-stream.ts';
import { queryFlag } from '../http/read-input.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import { cursorOf, OUTPUT_DESCRIPTION, outputQuery, outputResponse } from './output-stream.ts';
import {
  isProcessId,
  ONE_RUNNABLE,
  oneRunnable,
  ProcessDto,
  ProcessListDto,
  ProcessPath,
  runnable,
  timeout,
  toRunnable,
} from './process-dto.ts';

/** Maximum size of one input, in bytes. */
const MAX_INPUT_BYTES = 32 * 1024 * 1024;

const size = z
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(65_535, 'must be at most 65535');
const TerminalSizeDto = z.strictObject({ cols: size, rows: size }).meta({ id: 'TerminalSize' });

/** Strict: `started_by` in a body would silently be ignored. */
const ProcessRequestDto = z
  .strictObject({
    ...runnable,
    name: z
      .string('must be a string')
      .refine(
        (name) => processName.safeParse(name).success,
        'must be 1 to 64 letters, digits, spaces or .:@/_-',
      )
      .optional()
      .describe('For people'),
    stdin: z
      .boolean('must be true or false')
      .optional()
      .describe('Whether stdin is a pipe; a terminal always has one'),
    tty: TerminalSizeDto.optional(),
    timeout_ms: timeout(2_147_483_647)
      .min(1, 'must be at least 1')
      .optional()
      .describe('SIGTERM after so long, SIGKILL 4 s later; none: no limit'),
    output_bytes: z
      .int('must be a whole number')
      .min(OUTPUT_BYTES.smallest, `must be at least ${OUTPUT_BYTES.smallest}`)
      .max(OUTPUT_BYTES.largest, `must be at most ${OUTPUT_BYTES.largest}`)
      .optional()
      .describe(`How much output is kept, both streams together. Default: ${OUTPUT_BYTES.usual}`),
  })
  .refine(oneRunnable, ONE_RUNNABLE)
  .meta({ id: 'ProcessRequest', example: { argv: ['npm', 'test'], name: 'tests' } });

/** What the routes of one process have in common: the scope for commands covers processes, too. */
const one = {
  tag: 'Processes',
  agents: true,
  delegates: { scope: 'exec', enforces: 'commands' },
  params: ProcessPath,
  errors: [...GUEST_ERRORS, 'process_not_found'],
} as const satisfies Partial<Route>;

const viewed = { ...one, shared: { sandbox: 'view' } } as const;
export const processWork = { ...one, shared: { sandbox: 'work' } } as const;

interface Request {
  readonly params: { readonly id: string; readonly pid: string };
  readonly caller: Caller;
  readonly signal: AbortSignal | undefined;
}

export function processRef({ params: { id, pid }, caller, signal }: Request): StartedRef<'processes'> {
  if (isProcessId(pid)) return { caller, sandboxId: id, kind: 'processes', id: pid, signal };
  throw new PortholeError('process_not_found', `${JSON.stringify(pid.slice(0, 80))} is not a process id`, {
    remedy: `GET /v1/sandbox/${id}/processes lists them.`,
  });
}

const createProcessRoute = defineRoute('createProcess', 'POST', '/v1/sandbox/{id}/processes', {
  ...processWork,
  summary: 'Start a process',
  description:
    'It outlives the request, and a restart of Porthole; it ends with its sandbox. A stopped sandbox is resumed. A program that cannot be started is a process that exited with 126 or 127. A process keeps its sandbox from idling only while someone reads its output or waits for it.',
  params: SandboxPath,
  body: ProcessRequestDto,
  responses: { 201: { description: 'The process', schema: ProcessDto } },
  errors: [...GUEST_ERRORS, 'path_outside_workspace', 'too_many_processes'],
  async handle({ params, body, caller, signal }, services) {
    checkRunnable(caller, body);
    const ref = { caller, sandboxId: params.id, signal };
    return json(
      201,
      await startProcess(services, ref, toRunnable(body) as Parameters<typeof startProcess>[2]),
    );
  },
});

/** A shell line could be any command. @throws PortholeError `forbidden` */
export function checkRunnable(
  caller: Caller,
  body: { readonly argv?: readonly string[] | undefined; readonly env?: object | undefined },
): void {
  const { argv = ['sh'], env } = body;
  if (caller.kind === 'delegate') checkCommand(caller.grant, argv, { env });
}

const listProcessesRoute = defineRoute('listProcesses', 'GET', '/v1/sandbox/{id}/processes', {
  ...viewed,
  summary: 'List processes',
  description: 'Those that run and the last 100 that exited, newest first.',
  params: SandboxPath,
  responses: { 200: { description: 'The processes', schema: ProcessListDto } },
  errors: GUEST_ERRORS,
  async handle({ params, caller, signal }, services) {
    return json(200, { processes: await listProcesses(services, { caller, sandboxId: params.id, signal }) });
  },
});

const getProcessRoute = defineRoute('getProcess', 'GET', '/v1/sandbox/{id}/processes/{pid}', {
  ...viewed,
  summary: 'Get a process',
  responses: { 200: { description: 'The process, with its exit once it has one', schema: ProcessDto } },
  async handle(request, services) {
    return json(200, await getStarted(services, processRef(request)));
  },
});

const deleteProcessRoute = defineRoute('deleteProcess', 'DELETE', '/v1/sandbox/{id}/processes/{pid}', {
  ...processWork,
  summary: 'Remove a process',
  description: 'One that runs is killed (SIGKILL to its group); its output is removed.',
  responses: { 204: { description: 'Removed' } },
  async handle(request, services) {
    await removeStarted(services, processRef(request));
    return { statusCode: 204, headers: {} };
  },
});

const followProcessRoute = defineRoute('followProcess', 'GET', '/v1/sandbox/{id}/processes/{pid}/output', {
  ...viewed,
  class: 'stream',
  summary: 'Read the output of a process',
  description: OUTPUT_DESCRIPTION,
  query: outputQuery,
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  async handle(request, services) {
    const { query, headers } = request;
    const range = { since: cursorOf(headers, query.since), follow: query.follow };
    return outputResponse(services, processRef(request), range);
  },
});

const sendInputRoute = defineRoute('sendProcessInput', 'POST', '/v1/sandbox/{id}/processes/{pid}/input', {
  ...processWork,
  class: 'stream',
  summary: 'Write to the stdin of a process',
  description: `Raw bytes, at most ${MAX_INPUT_BYTES}. Answers once they are in the pipe; \`eof=true\` closes it behind them. Takes a process with \`stdin: true\` or a terminal.`,
  query: z.object({ eof: queryFlag() }),
  body: 'stream',
  responses: {
    200: { description: 'Taken', schema: z.object({ bytes: z.int() }).meta({ id: 'InputTaken' }) },
  },
  errors: [...one.errors, 'process_exited', 'payload_too_large'],
  async handle(request, services) {
    const body = limitedStream(request.stream(), {
      bytes: MAX_INPUT_BYTES,
      tooLarge: () =>
        new PortholeError('payload_too_large', `The input is over ${MAX_INPUT_BYTES} bytes`, {
          remedy: 'send it in parts.',
        }),
      cutOff: () =>
        new PortholeError('invalid_request', 'The request was cut off: part of it may be written.'),
    });
    const bytes = await sendInput(services, processRef(request), { body, eof: request.query.eof });
    return json(200, { bytes });
  },
});

const signalProcessRoute = defineRoute('signalProcess', 'POST', '/v1/sandbox/{id}/processes/{pid}/signal', {
  ...processWork,
  summary: 'Send a signal to a process',
  description: 'To its whole group. After its exit nothing happens.',
  body: z.strictObject({ signal: z.enum(SIGNALS).default('SIGTERM') }).meta({ id: 'SignalRequest' }),
  responses: { 200: { description: 'The process', schema: ProcessDto } },
  async handle(request, services) {
    return json(200, await signalProcess(services, processRef(request), request.body.signal));
  },
});

const resizeProcessRoute = defineRoute('resizeProcess', 'POST', '/v1/sandbox/{id}/processes/{pid}/resize', {
  ...processWork,
  summary: 'Resize the terminal of a process',
  body: TerminalSizeDto,
  responses: { 200: { description: 'The process', schema: ProcessDto } },
  async handle(request, services) {
    return json(200, await resizeProcess(services, processRef(request), request.body));
  },
});

const waitForProcessRoute = defineRoute('waitForProcess', 'POST', '/v1/sandbox/{id}/processes/{pid}/wait', {
  ...viewed,
  class: 'stream',
  summary: 'Wait for the exit of a process',
  body: z
    .strictObject({ timeout_ms: timeout(WAIT_MS.longest).default(WAIT_MS.usual) })
    .meta({ id: 'ProcessWait' }),
  responses: { 200: { description: 'The process, exited', schema: ProcessDto } },
  errors: [...one.errors, 'wait_timed_out'],
  async handle(request, services) {
    return json(200, await waitForProcess(services, processRef(request), request.body.timeout_ms));
  },
});

export const processRoutes = [
  createProcessRoute,
  listProcessesRoute,
  getProcessRoute,
  deleteProcessRoute,
  followProcessRoute,
  sendInputRoute,
  signalProcessRoute,
  resizeProcessRoute,
  waitForProcessRoute,
];
