import { lchownSync, mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { networkNotSupported } from '#adapters/sandboxes/unsupported-spec.ts';
import { PortholeError } from '#core/errors.ts';
import type { SandboxSize } from '#core/ports/sandbox-provider.ts';
import { AGENT_FOLDER } from '#core/rules/agent-access.ts';
import { ownerOf } from './drop-root.ts';
import type { Carrier } from './egress/carriers.ts';
import { egressRules } from './egress/egress-rules.ts';
import { machineNetworks, startEgress } from './egress/start-egress.ts';
import { endProcesses, holderOf } from './end-processes.ts';
import type { InitSettings } from './init/main.ts';
import { request } from './init-client.ts';
import { openInitSocket } from './init-socket.ts';
import { type IsolationKind, LAUNCHERS } from './isolation.ts';
import { NO_FILTER } from './launch.ts';
import type { LocalProviderOptions } from './local-provider.ts';
import { removeFolder } from './remove-folder.ts';
import { writeRuntimeFiles } from './runtime-files.ts';
import { limitProcesses, MOST } from './process-limit.ts';
import { type Cgroups, cgroupName, findCgroups, joinCgroup, type SandboxCgroup } from './sandbox-cgroup.ts';
import type { SandboxFolder, StartRecord } from './sandbox-folder.ts';
import { findNpm, findPty, INSIDE_PATHS, insideEnvironment, type Sources } from './sandbox-view.ts';
import { spawnSandbox } from './spawn-sandbox.ts';

/** Keeps an init small: 24 to 29 MiB of private memory after 200 MB of output instead of several times that. */
const SMALL = ['--max-semi-space-size=1', '--max-old-space-size=24'];

/** Processes that start a sandbox and stay around it. */
const AROUND = 16;

/** The longest a trial may take, in ms; it takes about 30. */
const TRIAL = 10_000;

/** Starts sandboxes in their folders, and tries out whether that works. */
export class SandboxStarter {
  readonly #dataDir: string;
  readonly #nodeModules: string | undefined;
  readonly #alsoReachable: readonly string[];
  readonly #userNamespaces: boolean;
  #shared: Omit<Sources, 'workspace' | 'channel' | 'mounts'> | undefined;

  constructor(
    dataDir: string,
    {
      nodeModules,
      alsoReachable = [],
      userNamespaces = false,
    }: Pick<LocalProviderOptions, 'nodeModules' | 'alsoReachable' | 'userNamespaces'>,
  ) {
    this.#dataDir = dataDir;
    this.#alsoReachable = alsoReachable;
    this.#nodeModules = nodeModules;
    this.#userNamespaces = userNamespaces;
  }

  /** Starts the init in a folder that `make` has prepared, and resolves once it answers. */
  async start(
    id: string,
    folder: SandboxFolder,
    isolation: IsolationKind,
    { carrier, size }: { readonly carrier: Carrier | undefined; readonly size: SandboxSize },
    signal?: AbortSignal,
  ): Promise<StartRecord> {
    const sources = this.#sources(folder.workspace, folder.mounts, folder.channel);
    const command = isolation === 'none' ? plainInit(id, sources) : isolatedInit(id, sources);
    const owner = ownerOf(id);
    const egress =
      carrier !== undefined
        ? egressRules({ carrier, ...machineNetworks(), alsoReachable: this.#alsoReachable })
        : undefined;
    const cgroup = isolation === 'none' ? undefined : await makeCgroup(id, folder, size);
    const memoryMb = cgroup?.controllers.has('memory') ? size.memoryMb : undefined;
    const launch = LAUNCHERS[isolation]({
      id,
      sources,
      owner,
      command,
      egress,
      memoryMb,
      userNamespaces: this.#userNamespaces,
    });
    const listener = await openInitSocket(folder.path);
    const argv = [...(cgroup?.prefix ?? []), ...launch.argv];
    const spawned = await spawnSandbox({ ...launch, argv }, listener).finally(() => listener.close());
    // Before it is let go: children are born into the cgroup of their parent.
    if (cgroup !== undefined) joinCgroup(cgroup, spawned.process.pid);
    const started: StartRecord = {
      isolation,
      process: spawned.process,
      dialer: launch.dialer,
      shared: launch.shared,
      cgroup: cgroup?.folders,
      direct: true,
    };
    folder.record(started);
    const ended = new AbortController();
    const answer = request(
      id,
      folder.path,
      { op: 'ping' },
      AbortSignal.any([ended.signal, ...(signal === undefined ? [] : [signal])]),
    );
    spawned.go();
    void spawned.ended.finally(() => ended.abort());
    try {
      const { socket } = await answer;
      socket.destroy();
      if (carrier !== undefined) {
        await startEgress({ carrier, holder: holderOf(started), joinsUser: true, owner }, signal);
      }
    } catch (error) {
      await endProcesses(id, started);
      folder.forgetStarted();
      signal?.throwIfAborted();
      if (error instanceof PortholeError && error.code === 'network_not_supported') throw error;
      const { code, said } = await spawned.ended;
      if (said.includes(NO_FILTER)) {
        throw networkNotSupported(
          'its packets cannot be filtered (nft fails: are the modules of nftables there?)',
        );
      }
      throw new PortholeError(
        'exec_transport_error',
        `Sandbox ${id} does not start. Try again; the cause is in Porthole's log.`,
        { cause: new Error(`exit code ${code}: ${said}`, { cause: error }) },
      );
    } finally {
      spawned.release();
    }
    return started;
  }

  /** Starts a sandbox that ends at once. Undefined when that worked, else what went wrong. */
  async attempt(kind: 'bubblewrap' | 'unshare'): Promise<string | undefined> {
    let workspace: string | undefined;
    try {
      const owner = ownerOf('trial');
      // Of its own, as another host with the same data may be trying too.
      workspace = mkdtempSync(join(this.#dataDir, 'trial-'));
      if (owner !== undefined) lchownSync(workspace, owner, owner);
      const sources = this.#sources(workspace, workspace);
      const command = [INSIDE_PATHS.node, '--version'];
      const launch = LAUNCHERS[kind]({
        id: 'trial',
        sources,
        owner,
        command,
        userNamespaces: this.#userNamespaces,
      });
      const spawned = await spawnSandbox(launch);
      spawned.go();
      const late = after(TRIAL, { code: null, said: `no end after ${TRIAL} ms` }, { ref: false });
      const { code, said } = await Promise.race([spawned.ended, late]);
      if (code === 0) return undefined;
      await endProcesses('trial', {
        isolation: kind,
        process: spawned.process,
        dialer: { node: '', runtime: '' },
      });
      return said === '' ? `exit code ${code}` : said;
    } catch (error) {
      return (error as Error).message;
    } finally {
      if (workspace !== undefined) await removeFolder(workspace).catch(() => {});
    }
  }

  #sources(workspace: string, mounts: string, channel?: string): Sources {
    const npm = findNpm();
    const pty = findPty();
    this.#shared ??= {
      node: process.execPath,
      runtime: writeRuntimeFiles(this.#dataDir),
      ...(npm === undefined ? {} : { npm }),
      ...(pty === undefined ? {} : { pty }),
      ...(this.#nodeModules === undefined ? {} : { nodeModules: this.#nodeModules }),
    };
    return { ...this.#shared, workspace, mounts, ...(channel === undefined ? {} : { channel }) };
  }
}

async function makeCgroup(
  id: string,
  folder: SandboxFolder,
  { cpu, memoryMb }: SandboxSize,
): Promise<(SandboxCgroup & Pick<Cgroups, 'controllers'>) | undefined> {
  const cgroups = await findCgroups();
  // The processes around the sandbox are in it, too.
  const limits = { cpu, memoryMb, pids: MOST + AROUND };
  try {
    if (cgroups === undefined) return undefined;
    return { ...cgroups.make(cgroupName(id, folder.path), limits), controllers: cgroups.controllers };
  } catch (error) {
    throw new PortholeError(
      'exec_transport_error',
      `Sandbox ${id} does not start: its cgroup cannot be made. Try again; the cause is in Porthole's log.`,
      { cause: error },
    );
  }
}

function initCommand(node: string, script: string, settings: InitSettings): string[] {
  return [node, ...SMALL, script, JSON.stringify(settings)];
}

function isolatedInit(id: string, sources: Sources): string[] {
  const env = insideEnvironment(id);
  const pty = sources.pty === undefined ? {} : { pty: INSIDE_PATHS.pty };
  return limitProcesses(initCommand(INSIDE_PATHS.node, INSIDE_PATHS.init, { env, ...pty }));
}

/** Without isolation commands find their programs and temporary files where the host does; HOME is the sandbox's own all the same. */
function plainInit(id: string, sources: Sources): string[] {
  const home = join(dirname(sources.workspace), 'home');
  const env = {
    ...insideEnvironment(id),
    PATH: `${dirname(sources.node)}:${process.env['PATH'] ?? ''}:${join(home, AGENT_FOLDER, 'bin')}`,
    HOME: home,
    WORKSPACE: sources.workspace,
  };
  const pty = sources.pty === undefined ? {} : { pty: sources.pty };
  return initCommand(sources.node, join(sources.runtime, 'js', 'main.js'), {
    env,
    workspace: sources.workspace,
    ...pty,
  });
}
