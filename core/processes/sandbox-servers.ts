import { commandEnvironment } from '../network/network-secrets.ts';
import {
  serverInfo,
  type ServerInfo,
  serverList,
  type ServerRequest,
} from '#guest/protocol/servers-protocol.ts';
import type { Caller } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import { NOTHING } from './guest.ts';
import {
  type GuestDeps,
  mayUseStarted,
  reachGuest,
  startedBy,
  startInGuest,
  withCodes,
} from './reach-guest.ts';

/** Which server, for whom. */
export interface ServerRef {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Declares a server and starts it; the same declaration again starts it if it does not run.
 * @throws PortholeError `server_exists` where another declaration has the name
 */
export function putServer(
  deps: GuestDeps,
  { caller, sandboxId, name, signal }: ServerRef,
  request: Omit<ServerRequest, 'started_by' | 'sandbox_env'>,
): Promise<{ readonly server: ServerInfo; readonly isNew: boolean }> {
  return startInGuest(deps, caller, sandboxId, async ({ guest, sandbox }) => {
    const body = { ...request, sandbox_env: commandEnvironment(sandbox), started_by: startedBy(caller) };
    const call = guest.call('PUT', `/v1/servers/${name}`, serverInfo, { body, signal });
    const { status, value } = await withCodes(call, { conflict: 'server_exists' });
    return { server: value, isNew: status === 201 };
  });
}

export async function listServers(
  deps: GuestDeps,
  { caller, sandboxId, signal }: Omit<ServerRef, 'name'>,
): Promise<readonly ServerInfo[]> {
  const { guest } = await reachGuest(deps, caller, sandboxId);
  const { value } = await guest.call('GET', '/v1/servers', serverList, { signal });
  return value.servers.filter((server) => mayUseStarted(caller, server));
}

/** @throws PortholeError `server_not_found` with the names that exist */
export async function getServer(deps: GuestDeps, ref: ServerRef): Promise<ServerInfo> {
  const { guest } = await reachGuest(deps, ref.caller, ref.sandboxId);
  const call = guest.call('GET', `/v1/servers/${ref.name}`, serverInfo, { signal: ref.signal });
  const { value } = await withCodes(call, { not_found: 'server_not_found' });
  if (mayUseStarted(ref.caller, value)) return value;
  throw new PortholeError(
    'server_not_found',
    `Sandbox ${ref.sandboxId}: no server ${ref.name} that this credential declared.`,
  );
}

/** Stops it, and forgets its declaration and its logs. */
export async function removeServer(deps: GuestDeps, ref: ServerRef): Promise<void> {
  await checkOwn(deps, ref);
  const { guest } = await reachGuest(deps, ref.caller, ref.sandboxId);
  const call = guest.call('DELETE', `/v1/servers/${ref.name}`, NOTHING, { signal: ref.signal });
  await withCodes(call, { not_found: 'server_not_found' });
}

/** Answers at once with the state that follows; a start and a restart resume a stopped sandbox. */
export async function changeServer(
  deps: GuestDeps,
  ref: ServerRef,
  change: 'start' | 'stop' | 'restart',
): Promise<ServerInfo> {
  const { caller, sandboxId, name, signal } = ref;
  const post = async ({ guest }: Pick<Awaited<ReturnType<typeof reachGuest>>, 'guest'>) => {
    await checkOwn(deps, ref);
    const call = guest.call('POST', `/v1/servers/${name}/${change}`, serverInfo, { signal });
    return (await withCodes(call, { not_found: 'server_not_found' })).value;
  };
  if (change === 'stop') return post(await reachGuest(deps, caller, sandboxId));
  return startInGuest(deps, caller, sandboxId, post);
}

async function checkOwn(deps: GuestDeps, ref: ServerRef): Promise<void> {
  if (ref.caller.kind === 'delegate' && ref.caller.grant.commands !== null) await getServer(deps, ref);
}
