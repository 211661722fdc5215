import { lchownSync, mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { GuestClient } from '#adapters/guest/guest-client.ts';
import { PortholeError } from '#base/errors.ts';
import type { SandboxSize } from '#core/sandboxes/sandbox-provider.ts';
import { anySignal, onceOpen } from '#base/concurrency.ts';
import { PROTOCOL_VERSION } from '#protocol/guest/http-protocol.ts';
import { NETWORK } from '#protocol/guest/network.ts';
import type { GuestSettingsInput } from '#protocol/guest/settings-protocol.ts';
import { codeInterpreterFolder } from './code-interpreter-folder.ts';
import { ownerOf } from './drop-root.ts';
import { endProcesses } from './end-processes.ts';
import { connectToGuestIn, type GuestSocket, openGuestSocket } from './guest-socket.ts';
import { type IsolationKind, LAUNCHERS, type TriedIsolation } from './isolation.ts';
import type { LocalProviderOptions } from './local-provider.ts';
import { writeRuntimeFiles } from './runtime-files.ts';
import { USUAL_SANDBOXES } from './machine-limits.ts';
import { limitProcesses, readSandboxCaps, type SandboxCaps } from './process-limit.ts';
import { type Cgroups, cgroupName, findCgroups, joinCgroup, type SandboxCgroup } from './sandbox-cgroup.ts';
import { removeFolder, type SandboxFolder, type StartRecord } from './sandbox-folder.ts';
import { findNpm, findPty, INSIDE_PATHS, insideEnvironment, type Sources } from './sandbox-view.ts';
import { spawnSandbox } from './spawn-sandbox.ts';

/**
 * V8 flags for a small guest: 24 to 29 MiB of private memory after 200 MB of output instead of
 * several times that.
 */
const SMALL = ['--disable-sigusr1', '--v8-pool-size=1', '--max-semi-space-size=1', '--max-old-space-size=24'];

/** Processes that start a sandbox and stay around it. */
const AROUND = 16;

/** Longest time of a trial, in ms; it takes about 30. */
const TRIAL = 10_000;

/** Saved memory that a sandbox in gVisor starts with. */
export interface SavedMemory {
  /** The folder of its files. */
  readonly image: string;
  /** The command of the sandbox that was saved. */
  readonly command: readonly string[];
}

/** Starts sandboxes with what is in the data folder. */
export function sandboxStarter(
  dataDir: string,
  options: Pick<LocalProviderOptions, 'nodeModules' | 'runsc' | 'tools' | 'userNamespaces' | 'sandboxes'>,
) {
  const { nodeModules, runsc, tools, userNamespaces, sandboxes = USUAL_SANDBOXES } = options;
  const shared = onceOpen(async () => {
    const [npm, pty, code] = [findNpm(), findPty(), codeInterpreterFolder(process.env)];
    return {
      node: process.execPath,
      runtime: await writeRuntimeFiles(dataDir),
      ...(npm !== undefined && { npm }),
      ...(pty !== undefined && { pty }),
      ...(code !== undefined && { code }),
      ...(nodeModules !== undefined && { nodeModules }),
      ...(runsc !== undefined && { runsc }),
    };
  });

  /** Starts the guest in a folder that `make` has prepared, and resolves once it answers. */
  async function start(
    id: string,
    folder: SandboxFolder,
    isolation: IsolationKind,
    size: SandboxSize,
    signal?: AbortSignal,
    memory?: SavedMemory,
  ): Promise<StartRecord> {
    const { workspace, mounts, channel, state } = folder;
    const owner = ownerOf(id);
    const socket = await openGuestSocket(folder, isolation, owner);
    const sources = {
      ...(await shared()),
      workspace,
      mounts,
      channel,
      state,
      ...socket.shows,
      ...(memory !== undefined && { image: memory.image }),
    };
    const caps = isolation === 'none' ? undefined : readSandboxCaps(sandboxes);
    const cgroup = caps === undefined ? undefined : await makeCgroup(id, folder, size, caps);
    const memoryMb = cgroup?.controllers.has('memory') ? size.memoryMb : undefined;
    const fresh = () =>
      caps === undefined
        ? plainGuest(id, sources, socket.listen, state)
        : limitProcesses(isolatedGuest(id, sources, socket.listen, tools?.environment, memoryMb), caps);
    const command = memory?.command ?? fresh();
    const launch = LAUNCHERS[isolation]({ id, sources, owner, command, memoryMb, userNamespaces });
    const argv = [...(cgroup?.prefix ?? []), ...launch.argv];
    const { listener } = socket;
    const spawned = await spawnSandbox({ ...launch, argv }, listener).finally(() => listener?.close());
    // Before `go()`: children are born into the cgroup of their parent.
    if (cgroup !== undefined) joinCgroup(cgroup, spawned.process.pid);
    const started: StartRecord = {
      isolation,
      process: spawned.process,
      shared: launch.shared,
      cgroup: cgroup?.folders,
      guest: PROTOCOL_VERSION,
      ...(isolation === 'gvisor' && { command }),
    };
    folder.record(started);
    const ended = new AbortController();
    const ending = anySignal(ended.signal, signal);
    const ready = socket.ready(ending);
    const client = new GuestClient({
      sandboxId: id,
      connect: async () => {
        await ready;
        return { stream: await connectToGuestIn(folder.path) };
      },
    });
    const answer = client.health(ending);
    spawned.go();
    void spawned.ended.finally(() => ended.abort());
    try {
      await answer;
    } catch (error) {
      await endProcesses(id, started);
      folder.forgetStarted();
      signal?.throwIfAborted();
      const { code, said } = await spawned.ended;
      throw new PortholeError('exec_transport_error', `Sandbox ${id} does not start.`, {
        remedy: "Try again; the cause is in Porthole's log.",
        cause: new Error(`exit code ${code}: ${said}`, { cause: error }),
      });
    } finally {
      spawned.release();
    }
    return started;
  }

  /** Starts a sandbox that exits at once. Undefined on success, else the reason of the failure. */
  async function attempt(kind: TriedIsolation): Promise<string | undefined> {
    let workspace: string | undefined;
    try {
      const owner = ownerOf('trial');
      // A unique folder: another host with the same data may run a trial at the same time.
      workspace = mkdtempSync(join(dataDir, 'trial-'));
      if (owner !== undefined) lchownSync(workspace, owner, owner);
      const sources = { ...(await shared()), workspace, mounts: workspace };
      const command = [INSIDE_PATHS.node, '--version'];
      const launch = LAUNCHERS[kind]({ id: 'trial', sources, owner, command, userNamespaces });
      const spawned = await spawnSandbox(launch);
      spawned.go();
      const late = after(TRIAL, { code: null, said: `no end after ${TRIAL} ms` }, { ref: false });
      const { code, said } = await Promise.race([spawned.ended, late]);
      if (code === 0) return undefined;
      await endProcesses('trial', { isolation: kind, process: spawned.process });
      return said === '' ? `exit code ${code}` : said;
    } catch (error) {
      return (error as Error).message;
    } finally {
      if (workspace !== undefined) await removeFolder(workspace).catch(() => {});
    }
  }

  return { start, attempt };
}

async function makeCgroup(
  id: string,
  folder: SandboxFolder,
  { cpu, memoryMb }: SandboxSize,
  { processes }: SandboxCaps,
): Promise<(SandboxCgroup & Pick<Cgroups, 'controllers'>) | undefined> {
  const cgroups = await findCgroups();
  // The cgroup also contains the processes around the sandbox.
  const limits = { cpu, memoryMb, pids: processes + AROUND };
  try {
    if (cgroups === undefined) return undefined;
    return { ...cgroups.make(cgroupName(id, folder.path), limits), controllers: cgroups.controllers };
  } catch (error) {
    throw new PortholeError(
      'exec_transport_error',
      `Sandbox ${id} does not start: its cgroup cannot be made.`,
      { remedy: "Try again; the cause is in Porthole's log.", cause: error },
    );
  }
}

function guestCommand(node: string, script: string, settings: Omit<GuestSettingsInput, 'version'>): string[] {
  return [node, ...SMALL, script, JSON.stringify(settings)];
}

function isolatedGuest(
  id: string,
  sources: Sources,
  listen: GuestSocket['listen'],
  environment: Readonly<Record<string, string>> | undefined,
  memoryMb: number | undefined,
): string[] {
  const env = { ...insideEnvironment(id), ...environment };
  const pty = sources.pty && INSIDE_PATHS.pty;
  const { node, guest, state } = INSIDE_PATHS;
  return guestCommand(node, guest, { env, state, listen, network: NETWORK.socket, pty, memoryMb });
}

/**
 * Without isolation commands use the host's programs and temporary files; HOME is the sandbox's
 * own.
 */
function plainGuest(
  id: string,
  { workspace, runtime, node, pty }: Sources,
  listen: GuestSocket['listen'],
  state: string,
): string[] {
  const home = join(dirname(workspace), 'home');
  // npm puts the commands of the host's packages there, including our client's `porthole`.
  const path = (process.env['PATH'] ?? '').split(':').filter((each) => !each.endsWith('/node_modules/.bin'));
  const env = {
    ...insideEnvironment(id),
    PATH: [dirname(node), ...path].join(':'),
    HOME: home,
    WORKSPACE: workspace,
  };
  return guestCommand(node, join(runtime, 'guest', 'guest.js'), { env, workspace, state, listen, pty });
}
