import type { ProcessInfo } from '../protocol/processes-protocol.ts';
import type { ServerInfo } from '../protocol/servers-protocol.ts';
import { CommandError, EXIT, type GuestCalls } from './guest-calls.ts';

/** Servers and processes, without the servers' own processes. */
export async function listAll(
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
export async function findStarted(
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
