import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { exitOutcome } from '#core/processes/exit-outcome.ts';
import {
  getStarted,
  listProcesses,
  type OutputEvent,
  signalProcess,
  type StartedRef,
} from '#core/processes/sandbox-processes.ts';
import { SIGNALS } from '#protocol/guest/exec-protocol.ts';
import { processExit, type ProcessInfo } from '#protocol/guest/processes-protocol.ts';
import { signalName } from '#protocol/guest/signals.ts';
import { Cursor, outputResponse } from '../processes/output-stream.ts';
import { Argv, ProcessPath, runnable } from '../processes/process-dto.ts';
import { defineRoute, json } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import type { Services } from '../services.ts';
import { ProcessStatusDto, toProcessStatus } from './bridge-dto.ts';
import { BRIDGE_BASE, bridgeView, bridgeWork, lookUp, lookUpAll, resourceRef } from './bridge-options.ts';
import { launchProcess } from './launch-process.ts';

const PROCESSES = `${BRIDGE_BASE}/v1/sandbox/{id}/processes`;
const MAX_TIMEOUT_MS = 2_147_483_647;

/** Strict: a field that is not supported is refused, and never ignored. */
const NewProcess = z
  .strictObject({
    argv: Argv.meta({ example: ['npm', 'test'] }),
    cwd: runnable.cwd.nullable(),
    env: runnable.env,
    timeout: z
      .number('must be a number')
      .positive('must be a positive finite number')
      .max(MAX_TIMEOUT_MS, `must be at most ${MAX_TIMEOUT_MS}`)
      .optional()
      .describe('SIGTERM after so many milliseconds, SIGKILL 4 s later; none: no limit'),
  })
  .meta({ id: 'BridgeProcessRequest' });

const createRoute = defineRoute('bridgeCreateProcess', 'POST', PROCESSES, {
  ...bridgeWork,
  summary: 'Start a process',
  description: 'It outlives the request. A stopped sandbox is resumed, and an unknown id names a new one.',
  params: SandboxPath,
  body: NewProcess,
  responses: { 200: { description: 'The process', schema: ProcessStatusDto } },
  errors: [...GUEST_ERRORS, 'exec_error', 'path_outside_workspace', 'too_many_processes'],
  async handle({ params, body, caller, signal }, services) {
    const { timeout, ...request } = body;
    const started = await launchProcess(
      services,
      { caller, sandboxId: params.id, signal },
      { ...request, ...(timeout !== undefined && { timeout_ms: Math.ceil(timeout) }) },
    );
    return json(200, toProcessStatus(started));
  },
});

const listRoute = defineRoute('bridgeListProcesses', 'GET', PROCESSES, {
  ...bridgeView,
  summary: 'List processes',
  description: 'Without those that have a terminal. A sandbox that does not run has none.',
  params: SandboxPath,
  responses: { 200: { description: 'The processes, newest first', schema: z.array(ProcessStatusDto) } },
  errors: ['exec_transport_error'],
  async handle({ params, caller, signal }, services) {
    const found = await lookUpAll(() => listProcesses(services, { caller, sandboxId: params.id, signal }));
    return json(200, found.filter(({ tty }) => tty === null).map(toProcessStatus));
  },
});

interface Request {
  readonly params: { readonly id: string; readonly pid: string };
  readonly caller: Caller;
  readonly signal: AbortSignal | undefined;
}

interface Found {
  readonly ref: StartedRef<'processes'>;
  readonly process: ProcessInfo;
}

/** @throws PortholeError `process_not_found`, also for a terminal */
function find(services: Services, request: Request): Promise<Found> {
  return lookUp('Process', async () => {
    const ref = resourceRef(request, 'Process', request.params.pid);
    const process = await getStarted(services, ref);
    if (process.tty === null) return { ref, process };
    throw new PortholeError('process_not_found', 'Process not found');
  });
}

const one = { params: ProcessPath, errors: ['process_not_found', 'exec_transport_error'] } as const;

const getRoute = defineRoute('bridgeGetProcess', 'GET', `${PROCESSES}/{pid}`, {
  ...bridgeView,
  ...one,
  summary: 'Get a process',
  responses: { 200: { description: 'The process', schema: ProcessStatusDto } },
  async handle(request, services) {
    return json(200, toProcessStatus((await find(services, request)).process));
  },
});

const Flag = z.enum(['true', 'false', '1', '0'], 'must be true or false').transform((text) => {
  return text === 'true' || text === '1';
});

const logsRoute = defineRoute('bridgeReadProcessLogs', 'GET', `${PROCESSES}/{pid}/logs`, {
  ...bridgeView,
  ...one,
  class: 'stream',
  summary: 'Read the output of a process',
  description:
    'Server-sent events with JSON: `stdout` and `stderr` with `data` in base64, `truncated` where the ring buffer dropped bytes, and `terminal` with the exit. `since` with the `cursor` of an event resumes after it. The stream ends after an hour: read on at the last cursor.',
  query: z.strictObject({
    since: Cursor.optional().describe('A cursor: output starts after it'),
    replay: Flag.default(true).describe('Whether it starts with the output so far. Default: true'),
    follow: Flag.default(false).describe('Stream new output until the exit. Default: false'),
  }),
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  async handle(request, services) {
    const { since, replay, follow } = request.query;
    const { ref, process } = await find(services, request);
    const range = { since: replay ? since : process.output.next, follow };
    return lookUp('Process', () =>
      outputResponse(services, ref, range, (event) => toLogFrame(event, services.clock.now())),
    );
  },
});

/** The guest keeps no times of output: `timestamp` is when it was read. */
function toLogFrame({ event, data, id: cursor }: OutputEvent, now: Date): string {
  const at = { cursor, timestamp: now.toISOString() };
  const shown = {
    stdout: () => ({ type: event, ...at, data }),
    stderr: () => ({ type: event, ...at, data }),
    cut: () => ({ type: 'truncated', ...at }),
    exit: () => {
      const exit = processExit.parse(JSON.parse(data));
      return { type: 'terminal', ...at, timestamp: exit.at, ...exitOutcome(exit) };
    },
  }[event]();
  return `data: ${JSON.stringify(shown)}\n\n`;
}

const SIGTERM = 15;
const MAX_SIGNAL = 64;
const OUT_OF_RANGE = `must be an integer between 1 and ${MAX_SIGNAL}`;

const Kill = z
  .strictObject({
    signal: z
      .int(OUT_OF_RANGE)
      .min(1, OUT_OF_RANGE)
      .max(MAX_SIGNAL, OUT_OF_RANGE)
      .default(SIGTERM)
      .describe('Number of a signal: 1, 2, 3, 9, 10, 12 or 15'),
  })
  .meta({ id: 'BridgeKill' });

/** @throws PortholeError `invalid_request` */
function signalOf(number: number): string {
  const name = signalName(number);
  if ((SIGNALS as readonly string[]).includes(name)) return name;
  throw new PortholeError('invalid_request', `signal: ${number} (${name}) is not supported`, {
    remedy: `send that of one of ${SIGNALS.join(', ')}.`,
  });
}

const killRoute = defineRoute('bridgeKillProcess', 'POST', `${PROCESSES}/{pid}/kill`, {
  ...bridgeWork,
  ...one,
  summary: 'Send a signal to a process',
  description: 'To its whole group. After its exit nothing happens.',
  body: Kill,
  responses: { 204: { description: 'Sent' } },
  async handle(request, services) {
    const name = signalOf(request.body.signal);
    const { ref } = await find(services, request);
    await lookUp('Process', () => signalProcess(services, ref, name));
    return { statusCode: 204, headers: {} };
  },
});

export const bridgeProcessRoutes = [createRoute, listRoute, getRoute, logsRoute, killRoute];
