/** The commands of `porthole` about servers and processes. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { ServerSentEvent } from '../../base/server-sent-events.ts';
import { SOCKET_VARIABLE } from '../inside-socket.ts';
import type { GuestEvent, PortInfo } from '../../protocol/guest/ports-protocol.ts';
import type { ProcessExit, ProcessInfo } from '../../protocol/guest/processes-protocol.ts';
import { RESTARTS, type ServerInfo, serverName } from '../../protocol/guest/servers-protocol.ts';
import { CommandError, EXIT, type GuestCalls, Refusal } from './guest-calls.ts';

interface ServeRequest {
  readonly port: number;
  readonly command: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly name: string | undefined;
  readonly restart: string | undefined;
  readonly http: string | undefined;
  readonly log: string | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly isReplacing: boolean;
  readonly waits: boolean;
  readonly usage: (what: string) => CommandError;
}

/** Variables that a shell sets for itself. */
const OF_THE_SHELL: ReadonlySet<string> = new Set(['_', 'PWD', 'OLDPWD', 'SHLVL', 'PORT', SOCKET_VARIABLE]);

/**
 * Declares a server, and waits until it is ready. If it exits instead, fails with its last lines.
 */
export async function serve(guest: GuestCalls, request: ServeRequest): Promise<void> {
  const { port, name = `port-${port}`, waits } = request;
  const path = `/v1/servers/${name}`;
  const declaration = declarationOf(request, name);
  const { servers } = await guest.json<{ servers: ServerInfo[] }>('GET', '/v1/servers');
  let before = servers.find((one) => one.name === name);
  if (before !== undefined && request.isReplacing) {
    await guest.json('DELETE', path);
    before = undefined;
  }
  if (before === undefined || !RUNS.has(before.state)) await checkPort(guest, port, name);
  try {
    await guest.json('PUT', path, declaration);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'conflict') throw error;
    const other = before === undefined ? '' : ` (${commandOf(before.argv)})`;
    throw new CommandError(
      EXIT.failed,
      `Server ${name} is declared otherwise${other}. Add --replace to replace it, or choose another --name.`,
    );
  }
  if (!waits) {
    process.stdout.write(`${name} is starting. See how it goes: porthole logs ${name} -f\n`);
    return;
  }
  await untilReady(guest, name);
  process.stdout.write(`${name} is ready on port ${port}. Its logs: porthole logs ${name}\n`);
}

const RUNS: ReadonlySet<ServerInfo['state']> = new Set(['starting', 'ready', 'waiting']);

function declarationOf(request: ServeRequest, name: string): object {
  const { port, command, env, restart, http, log, timeoutSeconds, usage } = request;
  if (!serverName.safeParse(name).success || /^\d+$/.test(name)) {
    throw usage(`--name takes up to 63 of a-z, 0-9 and -, and a letter among them, got ${name}.`);
  }
  if (restart !== undefined && !RESTARTS.some((one) => one === restart)) {
    throw usage(`--restart takes ${RESTARTS.join(', ')}, got ${restart}.`);
  }
  if (http !== undefined && log !== undefined) throw usage('Use one of --http and --log.');
  if (http !== undefined && !http.startsWith('/')) throw usage(`--http takes a path, e.g. /, got ${http}.`);
  if (timeoutSeconds === 0) throw usage('--timeout takes at least 1 second.');
  const readiness = {
    ...(http !== undefined && { http }),
    ...(log !== undefined && { log }),
    ...(timeoutSeconds !== undefined && { timeout_ms: timeoutSeconds * 1_000 }),
  };
  const variables = Object.entries(env).filter(([variable]) => !OF_THE_SHELL.has(variable));
  return {
    argv: command,
    port,
    cwd: process.cwd(),
    // Stored beside the output, not in the workspace: it may contain secrets.
    sandbox_env: Object.fromEntries(variables),
    ...(restart !== undefined && { restart }),
    ...(Object.keys(readiness).length > 0 && { readiness }),
  };
}

/** A port that another program already listens on would count as ready at once. */
async function checkPort(guest: GuestCalls, port: number, name: string): Promise<void> {
  const { ports } = await guest.json<{ ports: PortInfo[] }>('GET', '/v1/ports');
  const taken = ports.find((one) => one.port === port && one.server !== name);
  if (taken === undefined) return;
  const { server, program, pid } = taken;
  const by =
    server === null ? `${program ?? 'a program'}${pid === null ? '' : ` (pid ${pid})`}` : `server ${server}`;
  const remedy = server === null ? 'End it' : `Stop it (porthole stop ${server})`;
  throw new CommandError(EXIT.failed, `Port ${port} is in use by ${by}. ${remedy}, or choose another port.`);
}

/** @throws CommandError if it exits, or is not ready in time */
async function untilReady(guest: GuestCalls, name: string): Promise<void> {
  for await (const { event, data } of guest.events('/v1/events')) {
    const state = stateIn(event, data, name);
    if (state === 'ready') return;
    if (state === undefined || state === 'starting') continue;
    await printOutput(guest.events(`/v1/servers/${name}/logs?tail=20`), process.stderr);
    const { reason } = await guest.json<ServerInfo>('GET', `/v1/servers/${name}`);
    const again = state === 'waiting' ? ` porthole stop ${name} ends that.` : '';
    throw new CommandError(
      EXIT.failed,
      `Server ${name} is not ready: ${reason ?? WORDS[state]}.${again} What it printed last is above.`,
    );
  }
  throw new CommandError(EXIT.unreachable, 'The guest of this sandbox ended the connection. Try again.');
}

const WORDS: Readonly<Record<string, string>> = {
  exited: 'it ended with code 0',
  stopped: 'it was stopped',
  failed: 'it failed',
  waiting: 'it ended, and starts again',
};

function stateIn(event: string, data: string, name: string): ServerInfo['state'] | undefined {
  if (event !== 'snapshot' && event !== 'server') return undefined;
  const parsed = { name: event, data: JSON.parse(data) } as Extract<
    GuestEvent,
    { name: 'snapshot' | 'server' }
  >;
  if (parsed.name === 'snapshot') return parsed.data.servers.find((one) => one.name === name)?.state;
  return parsed.data.name === name ? parsed.data.state : undefined;
}

/** Servers and processes of the sandbox: each server once, without its own process. */
export async function listStarted(
  guest: GuestCalls,
  { all, asJson }: { readonly all: boolean; readonly asJson: boolean },
): Promise<void> {
  const { servers, processes } = await listAll(guest);
  const shown = processes.filter(({ state }) => all || state === 'running');
  if (asJson) {
    process.stdout.write(`${JSON.stringify({ servers, processes: shown }, undefined, 2)}\n`);
    return;
  }
  const rows = [
    ...servers.map(({ name, state, port, pid, started_at, argv }) =>
      [name, state, port ?? '-', pid ?? '-', age(started_at), commandOf(argv)].map(String),
    ),
    ...shown.map(({ id, exit, pid, started_at, argv }) =>
      [id, exit === null ? 'running' : endOf(exit), '-', pid ?? '-', age(started_at), commandOf(argv)].map(
        String,
      ),
    ),
  ];
  if (rows.length === 0) {
    process.stdout.write('Nothing runs. Start a server: porthole serve 3000 -- npm run dev\n');
    return;
  }
  const table = [['NAME', 'STATE', 'PORT', 'PID', 'AGE', 'COMMAND'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table) {
    process.stdout.write(`${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}\n`);
  }
}

/** From SIGTERM to SIGKILL, in ms. */
const GRACE = 5_000;

export async function stopStarted(guest: GuestCalls, name: string, removes: boolean): Promise<void> {
  const found = await findStarted(guest, name);
  if ('server' in found) {
    const path = `/v1/servers/${found.server.name}`;
    await (removes ? guest.json('DELETE', path) : guest.json('POST', `${path}/stop`));
    process.stdout.write(`${found.server.name} is ${removes ? 'stopped and removed' : 'stopped'}.\n`);
    return;
  }
  const { id, state } = found.process;
  if (removes) throw new CommandError(EXIT.usage, `--remove takes a server, and ${id} is a process.`);
  const path = `/v1/processes/${id}`;
  if (state === 'running') {
    await guest.json('POST', `${path}/signal`, { signal: 'SIGTERM' });
    try {
      await guest.json('POST', `${path}/wait`, { timeout_ms: GRACE });
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'timed_out') throw error;
      await guest.json('POST', `${path}/signal`, { signal: 'SIGKILL' });
      await guest.json('POST', `${path}/wait`, {});
    }
  }
  process.stdout.write(`${id} is stopped.\n`);
}

function commandOf(argv: readonly string[]): string {
  const text = argv.join(' ').replaceAll(/\s+/g, ' ');
  return text.length > 100 ? `${text.slice(0, 99)}…` : text;
}

function age(since: string | null): string {
  if (since === null) return '-';
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(since)) / 1_000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)}h` : `${Math.round(seconds / 86_400)}d`;
}

/** Of a server, unless the command sets another number. */
const LINES = 200;

/** @param name a server, its port, or the id or name of a process */
export async function printLogs(
  guest: GuestCalls,
  name: string,
  { follow, lines }: { readonly follow: boolean; readonly lines: number | undefined },
): Promise<void> {
  const found = await findStarted(guest, name);
  let path: string;
  if ('server' in found) {
    path = `/v1/servers/${found.server.name}/logs?tail=${lines ?? LINES}&follow=${follow}`;
  } else {
    if (lines !== undefined) {
      throw new CommandError(EXIT.usage, `--lines takes a server, and ${name} is a process.`);
    }
    path = `/v1/processes/${found.process.id}/output?follow=${follow}`;
  }
  await printOutput(guest.events(path));
}

/** @param all where all output goes; without it exits are reported, on stderr */
async function printOutput(events: AsyncIterable<ServerSentEvent>, all?: Writable): Promise<void> {
  for await (const { event, data } of events) {
    if (event === 'stdout' || event === 'stderr') {
      const to = all ?? process[event];
      // Back-pressure: a slow reader pauses the guest and does not fill this process's memory.
      if (!to.write(Buffer.from(data, 'base64'))) await once(to, 'drain');
    } else if (event === 'cut') {
      const { bytes } = JSON.parse(data) as { bytes: number };
      process.stderr.write(`porthole: ${bytes} bytes before this are gone.\n`);
    } else if (event === 'exit' && all === undefined) {
      process.stderr.write(`porthole: ended: ${endOf(JSON.parse(data) as ProcessExit)}.\n`);
    }
  }
}

function endOf({ code, signal, reason }: ProcessExit): string {
  const how = signal ?? (code === null ? 'unknown' : `code ${code}`);
  return reason === 'exited' || reason === 'killed' ? how : `${how} (${reason.replaceAll('_', ' ')})`;
}

/** Servers and processes, without the servers' own processes. */
async function listAll(
  guest: GuestCalls,
): Promise<{ readonly servers: readonly ServerInfo[]; readonly processes: readonly ProcessInfo[] }> {
  const [{ servers }, { processes }] = await Promise.all([
    guest.json<{ servers: ServerInfo[] }>('GET', '/v1/servers'),
    guest.json<{ processes: ProcessInfo[] }>('GET', '/v1/processes'),
  ]);
  return { servers, processes: processes.filter(({ started_by }) => started_by.kind !== 'server') };
}

/**
 * A server by its name or port, or a process by its id or name, the newest first. @throws
 * CommandError that lists what exists
 */
async function findStarted(
  guest: GuestCalls,
  name: string,
): Promise<{ readonly server: ServerInfo } | { readonly process: ProcessInfo }> {
  const { servers, processes } = await listAll(guest);
  const server = servers.find((one) => one.name === name || String(one.port) === name);
  if (server !== undefined) return { server };
  const found = processes.find(({ id }) => id === name) ?? processes.find((one) => one.name === name);
  if (found !== undefined) return { process: found };
  const existing = [...servers.map((one) => one.name), ...processes.map(({ id }) => id)].slice(0, 20);
  const choice = existing.length === 0 ? 'Nothing was started here' : `There are: ${existing.join(', ')}`;
  throw new CommandError(EXIT.failed, `No server or process ${name.slice(0, 64)}. ${choice}.`);
}
