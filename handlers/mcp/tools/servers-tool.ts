import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { plainText } from '#base/plain-text.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import { collectOutput } from '#core/processes/collect-output.ts';
import { lastLines } from '#core/processes/await-app.ts';
import { listPorts } from '#core/processes/sandbox-ports.ts';
import {
  changeServer,
  followOutput,
  getStarted,
  listProcesses,
  listServers,
  putServer,
  removeStarted,
  signalProcess,
  type StartedRef,
} from '#core/processes/sandbox-processes.ts';
import { readOutput } from '#core/runs/event-details.ts';
import { detailId } from '#protocol/guest/details-protocol.ts';
import { processId } from '#protocol/guest/processes-protocol.ts';
import { RESTARTS, SERVER_STATES, type ServerInfo, serverName } from '#protocol/guest/servers-protocol.ts';
import { defineTool, fitting, type ToolContext } from '../mcp-tool.ts';
import { linkToWhole } from '../run-resources.ts';
import { isContinuing } from './run-command-tool.ts';
import { filePath, port, runId, runOf } from './run-sandbox-tool.ts';

const name = z
  .string()
  .refine((text) => serverName.safeParse(text).success, 'must be 1 to 63 of a-z, 0-9 and -, not at an end')
  .describe('What the server is called, e.g. web');

const ServerSummary = z.object({
  name: z.string(),
  state: z.enum(SERVER_STATES),
  port: z.number().int().nullable(),
  reason: z.string().nullable().describe('Why it waits or failed'),
});

function toSummary({ name, state, port, reason }: ServerInfo): z.infer<typeof ServerSummary> {
  return { name, state, port, reason };
}

async function refOf(context: ToolContext, id: string | undefined) {
  const { sandboxId } = await runOf(context, id);
  return { caller: context.caller, sandboxId, signal: context.signal };
}

/** Processes that an error names: the newest. */
const MAX_NAMED = 5;

/**
 * What an agent can do about a missing server: the guest's message is for the HTTP API.
 * @param forProcess how the tool, or another, does the same for a process
 */
async function knownServer<T>(
  { services }: ToolContext,
  ref: StartedRef,
  call: Promise<T>,
  forProcess: string,
): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof PortholeError) || error.code !== 'server_not_found') throw error;
    const { details, cause } = error;
    const names = Array.isArray(details['existing']) ? details['existing'].map(String) : [];
    const known = names.length === 0 ? '' : `use one of ${names.join(', ')}, or `;
    const processes = (await listProcesses(services, ref))
      .filter(({ started_by: by }) => by.kind !== 'server')
      .slice(0, MAX_NAMED)
      .map(({ id, argv }) => `${id} (${plainText(argv.join(' '), 60)})`);
    const other = processes.length === 0 ? '' : ` For a process, ${forProcess}: ${processes.join(', ')}.`;
    const remedy = `${known}declare it with start_server.${other}`;
    throw new PortholeError('server_not_found', `No server ${ref.id}`, { details, cause, remedy });
  }
}

export const startServerTool = defineTool({
  name: 'start_server',
  title: 'Start a server',
  description:
    'Declare a server in the sandbox and start it. It keeps running, and starts again after a crash and with its sandbox. Then show it with start_preview, which waits until it is ready.',
  input: z.strictObject({
    run_id: runId,
    name,
    command: z.string().min(1).max(100_000).describe('A command line for sh, in the foreground'),
    port: port.optional(),
    cwd: filePath.optional().describe('Within /workspace, the default'),
    restart: z.enum(RESTARTS).default('on-failure'),
    replace: z.boolean().default(false).describe('Replace a server of this name that differs'),
  }),
  output: ServerSummary,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  async run({ run_id, name: server, command, port: at, cwd, restart, replace }, context) {
    const ref = { ...(await refOf(context, run_id)), kind: 'servers', id: server } as const;
    const request = {
      command,
      restart,
      ...(at !== undefined && { port: at }),
      ...(cwd !== undefined && { cwd: resolveWorkspacePath(cwd, 'cwd') }),
    };
    const put = () => putServer(context.services, ref, request);
    const { server: info, isNew } = await put().catch(async (error: unknown) => {
      if (!replace || !(error instanceof PortholeError) || error.code !== 'server_exists') throw error;
      await removeStarted(context.services, ref);
      return put();
    });
    const text = `Server ${server} is ${isNew ? 'declared' : 'declared already'}, and ${info.state}.`;
    return { data: toSummary(info), text };
  },
});

export const restartServerTool = defineTool({
  name: 'restart_server',
  title: 'Restart a server',
  description:
    'Stop a declared server and start it again, e.g. after a change that it does not load. Starts one that was stopped, too.',
  input: z.strictObject({ run_id: runId, name }),
  output: ServerSummary,
  annotations: { readOnlyHint: false, destructiveHint: true },
  async run({ run_id, name: server }, context) {
    const ref = { ...(await refOf(context, run_id)), kind: 'servers', id: server } as const;
    const restarting = changeServer(context.services, ref, 'restart');
    const info = await knownServer(context, ref, restarting, 'stop it with stop_process and run it again');
    return { data: toSummary(info), text: `Server ${server} is ${info.state}.` };
  },
});

export const deleteServerTool = defineTool({
  name: 'delete_server',
  title: 'Delete a server',
  description: 'Stop a declared server, and remove its declaration and its logs. Its files stay.',
  input: z.strictObject({ run_id: runId, name }),
  output: z.object({ name: z.string(), deleted: z.literal(true) }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  async run({ run_id, name: server }, context) {
    const ref = { ...(await refOf(context, run_id)), kind: 'servers', id: server } as const;
    await knownServer(context, ref, removeStarted(context.services, ref), 'stop it with stop_process');
    return { data: { name: server, deleted: true as const }, text: `Server ${server} is deleted.` };
  },
});

export const serverLogsTool = defineTool({
  name: 'server_logs',
  title: 'Read the logs of a server',
  description: 'The state of a declared server, and the lines that it printed last.',
  input: z.strictObject({ run_id: runId, name }),
  output: ServerSummary.extend({ log: z.array(z.string()) }),
  annotations: { readOnlyHint: true },
  async run({ run_id, name: server }, context) {
    const { services } = context;
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(LOG_MS)]);
    const ref = { ...(await refOf(context, run_id)), kind: 'servers', id: server } as const;
    const info = await knownServer(context, ref, getStarted(services, ref), READ_PROCESS);
    const log = await lastLines(services.guests.of(ref.sandboxId), server, signal);
    const lines = log.map((line) => outputLine(line, 400));
    return { data: { ...toSummary(info), log: lines }, text: [`[${info.state}]`, ...lines].join('\n') };
  },
});

const READ_PROCESS = 'call process_output with its process_id';

/** Timeout of reading a log, in ms. */
const LOG_MS = 10_000;

const someProcess = z
  .string()
  .refine((text) => processId.safeParse(text).success, 'must be a process_id of list_processes');

/** The end of an output: bytes, and lines, so that JSON does not multiply them. */
const MAX_OUTPUT_BYTES = 12_000;
/** Bytes, with those that the process prints meanwhile. */
const MAX_READ_BYTES = 4 * MAX_OUTPUT_BYTES;
const MAX_LINES = 200;

export const processOutputTool = defineTool({
  name: 'process_output',
  title: 'Read the output of a process',
  description:
    'The state of a process, or of a command that continued after its run_command, and the end of what it printed.',
  input: z.strictObject({ run_id: runId, process_id: someProcess }),
  output: z.object({ state: z.enum(['running', 'exited']), output: z.array(z.string()).describe('Lines') }),
  annotations: { readOnlyHint: true },
  async run({ run_id, process_id: id }, context) {
    if (detailId.safeParse(id).success) return commandOutput(context, run_id, id);
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(LOG_MS)]);
    const ref = { ...(await refOf(context, run_id)), kind: 'processes', id, signal } as const;
    const { state, output } = await getStarted(context.services, ref);
    const since = Math.max(output.first, output.next - MAX_OUTPUT_BYTES);
    const events = await followOutput(context.services, ref, { since, follow: false });
    const printed = await collectOutput(events, MAX_READ_BYTES);
    const { shown, isPart } = lastOutputLines(printed.toString());
    return {
      data: { state, output: shown },
      text: [`[${state}]`, ...shown].join('\n'),
      whole: since > 0 || isPart ? await linkToWhole(context, run_id, 'processes', id) : undefined,
    };
  },
});

/**
 * One line of a program's output: spaces and tabs stay, for its indentation, and escape sequences
 * of terminals go.
 */
function outputLine(text: string, most: number): string {
  const line = stripVTControlCharacters(text.slice(0, most * 4))
    .replace(/[^\P{C}\t]|[\p{Zl}\p{Zp}]/gu, ' ')
    .trimEnd();
  const characters = Array.from(line);
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}…`;
}

function lastOutputLines(output: string): { readonly shown: string[]; readonly isPart: boolean } {
  const lines = output.trimEnd().split('\n');
  const shown = lines.slice(-MAX_LINES).map((line) => outputLine(line, 400));
  return { shown, isPart: shown.length < lines.length };
}

/** The output of a command of `run_command`: the guest keeps it once it has ended. */
async function commandOutput(context: ToolContext, run_id: string | undefined, id: string) {
  if (isContinuing(id)) {
    return {
      data: { state: 'running' as const, output: [] },
      text: '[running] Its output follows at its end.',
    };
  }
  const run = await runOf(context, run_id);
  const source = { ...context, run };
  const { first, last, omitted_bytes } = await readOutput(
    { ...context.services, redact: context.redact },
    source,
    { detailId: id },
  );
  const { shown, isPart } = lastOutputLines((last === '' ? first : last).slice(-MAX_OUTPUT_BYTES));
  const isCut = isPart || omitted_bytes > 0 || first.length > MAX_OUTPUT_BYTES;
  return {
    data: { state: 'exited' as const, output: shown },
    text: ['[exited]', ...shown].join('\n'),
    whole: isCut ? await linkToWhole(context, run_id, 'commands', id) : undefined,
  };
}

/** Entries of a list, and characters of its JSON. */
const MAX_LISTED = 50;
const MAX_JSON_CHARS = 10_000;

export const listProcessesTool = defineTool({
  name: 'list_processes',
  title: 'List processes, servers and ports',
  description:
    'The declared servers in the sandbox, and its processes: those that run and those that ended last. And the ports that listen.',
  input: z.strictObject({ run_id: runId }),
  output: z.object({
    servers: z.array(ServerSummary),
    processes: z.array(
      z.object({
        process_id: z.string(),
        command: z.string(),
        state: z.enum(['running', 'exited']),
        exit_code: z.number().int().nullable(),
        signal: z.string().nullable(),
      }),
    ),
    ports: z.array(
      z.object({
        port: z.number().int(),
        address: z.string(),
        program: z.string().nullable(),
        server: z.string().nullable(),
      }),
    ),
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id }, context) {
    const ref = await refOf(context, run_id);
    const [servers, processes, ports] = await Promise.all([
      listServers(context.services, ref),
      listProcesses(context.services, ref),
      listPorts(context.services, ref),
    ]);
    const whole = {
      servers: servers.map(toSummary),
      processes: processes.slice(0, MAX_LISTED).map(({ id, argv, state, exit }) => ({
        process_id: id,
        command: plainText(argv.join(' '), 200),
        state,
        exit_code: exit?.code ?? null,
        signal: exit?.signal ?? null,
      })),
      ports: ports.slice(0, MAX_LISTED).map(({ port: number, address, program, server }) => ({
        port: number,
        address,
        program: program === null ? null : plainText(program, 100),
        server,
      })),
    };
    const data = {
      servers: fitting(whole.servers, MAX_JSON_CHARS),
      processes: fitting(whole.processes, MAX_JSON_CHARS),
      ports: fitting(whole.ports, MAX_JSON_CHARS),
    };
    const lines = [
      ...data.servers.map((each) => `server ${each.name}: ${each.state}`),
      ...data.processes.map((each) => `${each.process_id} ${each.state}: ${each.command}`),
      ...data.ports.map(
        (each) => `port ${each.port} on ${each.address}: ${each.server ?? each.program ?? '?'}`,
      ),
    ];
    return { data, text: lines.length === 0 ? 'Nothing runs.' : lines.join('\n') };
  },
});

export const stopProcessTool = defineTool({
  name: 'stop_process',
  title: 'Stop a server or a process',
  description:
    'Stop a declared server by its name, until start_server or a person starts it again; or send SIGTERM to a process, by its process_id.',
  input: z.strictObject({
    run_id: runId,
    name: name.optional(),
    process_id: someProcess.optional(),
  }),
  output: z.object({ name: z.string(), state: z.string() }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  async run({ run_id, name: server, process_id: id }, context) {
    const ref = await refOf(context, run_id);
    if ((server === undefined) === (id === undefined)) {
      throw new PortholeError('invalid_request', 'name, process_id', {
        remedy: 'pass one of them, as list_processes has it.',
      });
    }
    const stop = () => {
      if (server === undefined) {
        const named = { ...ref, kind: 'processes', id: id ?? '' } as const;
        return signalProcess(context.services, named, 'SIGTERM');
      }
      const named = { ...ref, kind: 'servers', id: server } as const;
      return knownServer(
        context,
        named,
        changeServer(context.services, named, 'stop'),
        'pass its process_id',
      );
    };
    const { state } = await stop();
    const which = server ?? id ?? '';
    return { data: { name: which, state }, text: `${which} is ${state}.` };
  },
});
