import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { endProcess, getStarted, listProcesses, type StartedRef } from '#core/processes/sandbox-processes.ts';
import { interruptTerminal } from '#core/terminals/attached-terminal.ts';
import { MAX_COLUMNS } from '#core/terminals/terminal-messages.ts';
import type { ProcessInfo } from '#protocol/guest/processes-protocol.ts';
import { ATTACH_DESCRIPTION, attachResponse, attachSize } from '../processes/attach-route.ts';
import { Cursor } from '../processes/output-stream.ts';
import { Argv, runnable } from '../processes/process-dto.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import type { Services } from '../services.ts';
import { BridgeTerminalPath, TerminalSnapshotDto, toTerminalSnapshot } from './bridge-dto.ts';
import { BRIDGE_BASE, bridgeView, bridgeWork, lookUp, lookUpAll, resourceRef } from './bridge-options.ts';
import { launchProcess } from './launch-process.ts';

const TERMINALS = `${BRIDGE_BASE}/v1/sandbox/{id}/terminals`;

/** What a terminal keeps for later connections: some hundred screens. */
const OUTPUT_BYTES = 1024 * 1024;
const USUAL = { cols: 80, rows: 24 };

const size = z
  .int('must be a positive integer')
  .min(1, 'must be a positive integer')
  .max(MAX_COLUMNS, `must be at most ${MAX_COLUMNS}`)
  .optional();

const NewTerminal = z
  .strictObject({
    argv: Argv.meta({ example: ['bash'] }),
    cwd: runnable.cwd,
    env: runnable.env,
    cols: size.describe('Default: 80'),
    rows: size.describe('Default: 24'),
  })
  .meta({ id: 'BridgeTerminalRequest' });

const createRoute = defineRoute('bridgeCreateTerminal', 'POST', TERMINALS, {
  ...bridgeWork,
  summary: 'Start a program on a terminal',
  description:
    'It outlives its connections, and a restart of Porthole. A stopped sandbox is resumed, and an unknown id names a new one.',
  params: SandboxPath,
  body: NewTerminal,
  responses: { 200: { description: 'The terminal', schema: TerminalSnapshotDto } },
  errors: [...GUEST_ERRORS, 'exec_error', 'path_outside_workspace', 'too_many_processes'],
  async handle({ params, body, caller, signal }, services) {
    const { cols = USUAL.cols, rows = USUAL.rows, ...request } = body;
    const started = await launchProcess(
      services,
      { caller, sandboxId: params.id, signal },
      { ...request, tty: { cols, rows }, output_bytes: OUTPUT_BYTES },
    );
    return json(200, toTerminalSnapshot(started));
  },
});

const listRoute = defineRoute('bridgeListTerminals', 'GET', TERMINALS, {
  ...bridgeView,
  summary: 'List terminals',
  description: 'The processes that have a terminal. A sandbox that does not run has none.',
  params: SandboxPath,
  responses: { 200: { description: 'The terminals, newest first', schema: z.array(TerminalSnapshotDto) } },
  errors: ['exec_transport_error'],
  async handle({ params, caller, signal }, services) {
    const found = await lookUpAll(() => listProcesses(services, { caller, sandboxId: params.id, signal }));
    return json(200, found.filter(({ tty }) => tty !== null).map(toTerminalSnapshot));
  },
});

interface Request {
  readonly params: { readonly id: string; readonly tid: string };
  readonly caller: Caller;
  readonly signal: AbortSignal | undefined;
}

interface Found {
  readonly ref: StartedRef<'processes'>;
  readonly terminal: ProcessInfo;
}

/** @throws PortholeError `process_not_found`, also for a process without a terminal */
function find(services: Services, request: Request): Promise<Found> {
  return lookUp('Terminal', async () => {
    const ref = resourceRef(request, 'Terminal', request.params.tid);
    const terminal = await getStarted(services, ref);
    if (terminal.tty !== null) return { ref, terminal };
    throw new PortholeError('process_not_found', 'Terminal not found');
  });
}

const one = { params: BridgeTerminalPath, errors: ['process_not_found', 'exec_transport_error'] } as const;

const getRoute = defineRoute('bridgeGetTerminal', 'GET', `${TERMINALS}/{tid}`, {
  ...bridgeView,
  ...one,
  summary: 'Get a terminal',
  responses: { 200: { description: 'The terminal', schema: TerminalSnapshotDto } },
  async handle(request, services) {
    return json(200, toTerminalSnapshot((await find(services, request)).terminal));
  },
});

const connectRoute = defineRoute('bridgeConnectTerminal', 'GET', `${TERMINALS}/{tid}/connect`, {
  ...bridgeWork,
  ...one,
  class: 'stream',
  summary: 'Connect to a terminal',
  description: ATTACH_DESCRIPTION,
  socket: true,
  query: z.strictObject({
    cursor: Cursor.optional().describe('A cursor: output starts after it. Default: all that is kept'),
    ...attachSize,
    authorization: z.string().optional().describe('`Bearer …`, from clients that cannot send the header'),
  }),
  responses: { 101: { description: 'The terminal, as a WebSocket' } },
  streams: true,
  errors: [...one.errors, 'too_many_terminals'],
  async handle(request, services) {
    const { cursor: since, cols, rows } = request.query;
    if (request.handshake === undefined) {
      throw new PortholeError('invalid_request', 'WebSocket upgrade required');
    }
    const { ref } = await find(services, request);
    return lookUp('Terminal', () => attachResponse(services, request, ref, { since, cols, rows }));
  },
});

function controlRoute(
  id: string,
  name: string,
  summary: string,
  control: (services: Services, ref: StartedRef<'processes'>) => Promise<unknown>,
): Route {
  return defineRoute(id, 'POST', `${TERMINALS}/{tid}/${name}`, {
    ...bridgeWork,
    ...one,
    class: 'stream',
    summary,
    description: 'After its exit nothing happens.',
    responses: { 204: { description: 'Done' } },
    async handle(request: Request, services) {
      const { ref, terminal } = await find(services, request);
      if (terminal.exit === null) await lookUp('Terminal', () => control(services, ref));
      return { statusCode: 204, headers: {} };
    },
  });
}

const interruptRoute = controlRoute(
  'bridgeInterruptTerminal',
  'interrupt',
  'Interrupt the program of a terminal, as Ctrl-C does',
  interruptTerminal,
);
const terminateRoute = controlRoute(
  'bridgeTerminateTerminal',
  'terminate',
  'End the program of a terminal: SIGTERM and SIGHUP, SIGKILL 4 s later. Its output is kept',
  endProcess,
);

export const bridgeTerminalRoutes = [
  createRoute,
  listRoute,
  getRoute,
  connectRoute,
  interruptRoute,
  terminateRoute,
];
