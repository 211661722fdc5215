/**
 * The `local` SandboxProvider: sandboxes are processes of this machine, isolated by bubblewrap,
 * else by unshare, else not at all; or by gVisor on request.
 *
 *     const provider = createLocalProvider({ dataDir });
 *     const { isolation, warnings } = await provider.probe(); // found by trying, cached
 *
 * A sandbox's `podName` is its id; `image` is refused. Sandboxes outlive the host, and the next
 * host with the same `dataDir` finds them running. `close()` ends only what this process started
 * for itself.
 */
import { mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { DEFAULT_SIZE } from '#adapters/sandboxes/default-size.ts';
import {
  CHANNEL_SOCKET,
  SandboxChannels,
  type ChannelServices,
} from '#adapters/sandboxes/sandbox-channels.ts';
import {
  sandboxNotFound,
  checkSandboxId,
  isSandboxId,
  networkNotSupported,
} from '#adapters/sandboxes/sandbox-errors.ts';
import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import { PortholeError } from '#base/errors.ts';
import { asEssential } from '#base/essential-work.ts';
import type { StoredSpec } from '#adapters/sandboxes/stored-spec.ts';
import type {
  CpuTime,
  Enforcement,
  GuestConnection,
  SandboxMemory,
  SandboxObservation,
  SandboxProvider,
  SandboxSize,
  SandboxSpec,
} from '#core/sandboxes/sandbox-provider.ts';
import { oneAtATime } from '#base/concurrency.ts';
import { PROTOCOL_VERSION } from '#protocol/guest/http-protocol.ts';
import { SLACK } from './disk-limit.ts';
import { DiskWatch, type WatchedSandbox } from './disk-watch.ts';
import { ownerOf } from './drop-root.ts';
import { chainOf, endProcesses } from './end-processes.ts';
import { connectToGuestIn, hasGuestSocket } from './guest-socket.ts';
import {
  findIsolation,
  type Isolation,
  type IsolationKind,
  systemCallsBehind,
  type TriedIsolation,
  withoutIsolation,
} from './isolation.ts';
import { machineWarnings, readMachineLimits, USUAL_SANDBOXES } from './machine-limits.ts';
import { MemoryNotSaved } from './gvisor-memory.ts';
import { GuestLost, LocalMemory, type Saved } from './local-memory.ts';
import { isAlive, type ProcessIdentity } from './process-identity.ts';
import { limitsProcesses } from './process-limit.ts';
import { type Controller, findCgroups, readCpuTime, scopeFolders } from './sandbox-cgroup.ts';
import { diskFull, type DiskSpace, isDiskFull } from '#adapters/system/disk-reserve.ts';
import { removeFolder, SandboxFolder, type StartRecord } from './sandbox-folder.ts';
import { INSIDE_PATHS } from './sandbox-view.ts';
import { type SavedMemory, sandboxStarter } from './start-sandbox.ts';

export interface LocalProviderOptions {
  /** Holds all sandboxes; created if it is missing. */
  readonly dataDir: string;
  /** @default the strongest isolation that works on this machine */
  readonly isolation?: IsolationKind | undefined;
  /** Path of gVisor's program, for the isolation `gvisor`. */
  readonly runsc?: string | undefined;
  /**
   * A folder mounted read-only as `/node_modules` in every sandbox, where `node` finds packages
   * without a network.
   */
  readonly nodeModules?: string | undefined;
  /**
   * Settings that sandboxes take over from the package managers of this machine. @default nothing
   */
  readonly tools?: Pick<MachineTools, 'environment' | 'certificates'> | undefined;
  /**
   * Lets code in sandboxes create user namespaces, as browsers need for their own sandbox. @default
   * false
   */
  readonly userNamespaces?: boolean | undefined;
  /** Size of a sandbox that asks for no size. @default 2 CPUs, 2 GiB of memory, 10 GiB of disk */
  readonly defaultSize?: SandboxSize | undefined;
  /** Of the disk with the data folder. @default nothing is reserved */
  readonly space?: DiskSpace | undefined;
  /** Milliseconds between two looks at the disks of sandboxes. @default 2 seconds */
  readonly watchDisksMs?: number | undefined;
  /** Whether `memory.suspend` saves memory, with gVisor. @default true */
  readonly keepsMemory?: boolean | undefined;
  /** Sandboxes that share the limits of the kernel. @default 10 */
  readonly sandboxes?: number | undefined;
}

/** Where file systems can be mounted from outside so that they appear in a running sandbox. */
export interface MountNamespace {
  /**
   * A process in the user and mount namespace beside the sandbox, the parent of the sandbox's own
   * namespaces.
   */
  readonly holder: ProcessIdentity;
  /** Owner of that user namespace if the host is root. */
  readonly owner: number | undefined;
  /**
   * The sandbox's path `inside` is the holder's path `beside`; only Porthole writes to `own`, its
   * path on the host.
   */
  readonly folders: readonly {
    readonly inside: string;
    readonly beside: string;
    readonly own?: string;
  }[];
}

/** Records that the provider stops a sandbox by itself, and stops it. */
export interface DiskStopListener {
  stop(id: string, why: string): Promise<void>;
  failed(error: unknown): void;
}

export function createLocalProvider(options: LocalProviderOptions): LocalProvider {
  return new LocalProvider(options);
}

/** Whether the sandbox's guest speaks our protocol version: `resume` restarts any other. */
function speaksOurs({ guest }: StartRecord): boolean {
  return guest === PROTOCOL_VERSION;
}

/**
 * Isolates the guest that writes the files of a new sandbox before gVisor restores its memory: it
 * starts and writes faster, and runs no code of the sandbox.
 */
const FILLS: IsolationKind = 'unshare';

/** Whether the disk had space for what it writes. */
function fitsOnDisk(write: () => void): boolean {
  try {
    write();
    return true;
  } catch (error) {
    if (isDiskFull(error)) return false;
    throw error;
  }
}

export class LocalProvider implements SandboxProvider {
  readonly name = 'local';
  readonly defaultSize: SandboxSize;
  readonly memory: SandboxMemory | undefined;
  readonly #root: string;
  readonly #starter: ReturnType<typeof sandboxStarter>;
  readonly #wanted: IsolationKind | undefined;
  readonly #sandboxes: number;
  #isolation: Promise<Isolation> | undefined;
  readonly #channels: SandboxChannels;
  readonly #space: DiskSpace | undefined;
  readonly #watch: DiskWatch;
  #onDiskStop: DiskStopListener | undefined;
  readonly #memory: LocalMemory;
  readonly #memoryLost = new Map<string, string>();

  /** What isolates is found at the first use: the host does not wait for it. */
  constructor(options: LocalProviderOptions) {
    const dataDir = resolve(options.dataDir);
    this.#root = join(dataDir, 'sandboxes');
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    this.defaultSize = options.defaultSize ?? DEFAULT_SIZE;
    this.#channels = new SandboxChannels(options.tools?.certificates);
    this.#starter = sandboxStarter(dataDir, options);
    this.#wanted = options.isolation;
    this.#sandboxes = options.sandboxes ?? USUAL_SANDBOXES;
    this.#space = options.space;
    this.#memory = new LocalMemory(dataDir);
    this.memory =
      options.isolation === 'gvisor'
        ? {
            save: (id, maxBytes) => oneAtATime(this, id, () => this.#saveMemory(id, maxBytes)),
            create: (spec, fill, image, signal) => this.#create(spec, signal, { fill, image }),
            suspend: (id) =>
              options.keepsMemory === false
                ? this.stop(id)
                : oneAtATime(this, id, () => this.#suspend(id, this.#known(id))),
          }
        : undefined;
    this.#watch = new DiskWatch({
      root: this.#root,
      running: () => this.#watched(),
      stop: (id, why, bytes) => this.#stopForDisk(id, why, bytes),
      fits: (id) => new SandboxFolder(this.#root, id).forgetDiskStop(),
      failed: (error) => this.#onDiskStop?.failed(error),
      everyMs: options.watchDisksMs,
    });
  }

  /** How sandboxes are isolated here, and warnings. Found once by starting one; never rejects. */
  probe(): Promise<Isolation> {
    return (this.#isolation ??= this.#findIsolation());
  }

  async #findIsolation(): Promise<Isolation> {
    const found = await this.#wantedIsolation();
    const limits = machineWarnings(readMachineLimits(), this.#sandboxes);
    return { ...found, warnings: [...found.warnings, ...limits] };
  }

  async #wantedIsolation(): Promise<Isolation> {
    const isolation = this.#wanted;
    if (isolation === undefined) return findIsolation((kind) => this.#starter.attempt(kind));
    return isolation === 'none' ? withoutIsolation() : { isolation, warnings: [] };
  }

  /** Starts a sandbox that exits at once. Undefined on success, else the reason of the failure. */
  attempt(isolation: TriedIsolation): Promise<string | undefined> {
    return this.#starter.attempt(isolation);
  }

  runsImage(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async enforcement(): Promise<Enforcement> {
    const { isolation } = await this.probe();
    const isolated = isolation !== 'none';
    const controllers = isolated ? (await findCgroups())?.controllers : undefined;
    const enforced = (controller: Controller): string | null =>
      controllers?.has(controller) ? 'cgroup' : null;
    return {
      cpu: enforced('cpu'),
      memoryMb: enforced('memory'),
      diskMb: 'disk watch',
      network: isolation === 'gvisor' ? 'gVisor' : isolated ? 'network namespace' : null,
      processes: enforced('pids') ?? (isolated && limitsProcesses() ? 'rlimit' : null),
      systemCalls: systemCallsBehind(isolation),
    };
  }

  /** Updates the authorities that the tools of a running sandbox trust. */
  writeCertificates(id: string): Promise<void> {
    return oneAtATime(this, id, () => this.#channels.writeCertificates(id));
  }

  /** Opens sockets to this process in each running sandbox, and in each that starts later. */
  async serveChannels(services: ChannelServices): Promise<void> {
    this.#channels.begin(services);
    for await (const id of this.list()) {
      try {
        await oneAtATime(this, id, async () => {
          const folder = new SandboxFolder(this.#root, id);
          const isolation = folder.started()?.isolation;
          if (isolation === undefined || this.#observe(id).state !== 'running') return;
          await this.#openChannel(id, folder, isolation);
        });
      } catch (error) {
        this.#channels.failed(id, error);
      }
    }
  }

  /** Sets who stops a sandbox for its disk, so that the stop is recorded. */
  onDiskStop(listener: DiskStopListener): void {
    this.#onDiskStop = listener;
  }

  /** Path of that socket inside a running sandbox; undefined while it does not run. */
  channelPath(id: string): string | undefined {
    if (this.#observe(id).state !== 'running') return undefined;
    const folder = new SandboxFolder(this.#root, id);
    const path = folder.started()?.isolation === 'none' ? folder.channel : INSIDE_PATHS.channel;
    return join(path, CHANNEL_SOCKET);
  }

  /**
   * Where buckets can be mounted for a running sandbox. Undefined if no mount can reach it: it is
   * not isolated, or was started by a host without shared folders.
   */
  mountNamespace(id: string): MountNamespace | undefined {
    if (this.#observe(id).state !== 'running') return undefined;
    const folder = new SandboxFolder(this.#root, id);
    const started = folder.started();
    if (started?.shared === undefined) return undefined;
    const chain = chainOf(started.process);
    const holder = started.isolation === 'bubblewrap' ? chain[1] : chain[0];
    if (holder === undefined || !isAlive(holder)) return undefined;
    const { workspace, mounts } = started.shared;
    return {
      holder,
      owner: ownerOf(id),
      folders: [
        { inside: '/mnt', beside: mounts, own: folder.mounts },
        { inside: '/workspace', beside: workspace },
      ],
    };
  }

  async create(spec: SandboxSpec, signal?: AbortSignal): Promise<void> {
    await this.#create(spec, signal);
  }

  /** @returns why it runs without the memory that it should have */
  async #create(
    { id, image, network = false, resources }: SandboxSpec,
    signal: AbortSignal | undefined,
    saved?: Saved,
  ): Promise<string | undefined> {
    if (image !== undefined) {
      throw new PortholeError(
        'image_not_supported',
        `Image ${image}: sandboxes on this machine have no images.`,
        { remedy: 'Leave it out, or use the docker or kubernetes provider.' },
      );
    }
    checkSandboxId(id);
    if (this.#space?.isLow()) throw diskFull(`Sandbox ${id} was not created`);
    if (network && (await this.probe()).isolation === 'none') {
      throw networkNotSupported('sandboxes are not isolated, so they use the network of the machine');
    }
    return oneAtATime(this, id, async () => {
      const folder = new SandboxFolder(this.#root, id);
      if (folder.has('destroying')) await this.#remove(id, folder);
      const fresh = !folder.exists();
      try {
        if (fresh) this.#watch.begin(id);
        if (fresh && saved !== undefined)
          return await this.#continueSaved(id, folder, resources, saved, signal);
        await this.#start(id, folder, signal, { resources });
        return undefined;
      } catch (error) {
        if (fresh && folder.exists()) await this.#remove(id, folder);
        throw error;
      }
    });
  }

  async inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation> {
    signal?.throwIfAborted();
    return { podName: id, ...this.#observe(id), memoryLost: this.#memoryLost.get(id) };
  }

  async stop(id: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await oneAtATime(this, id, async () => {
      const folder = this.#known(id);
      await this.#end(id, folder);
      await this.#memory.forget(folder);
    });
  }

  async resume(id: string, signal?: AbortSignal): Promise<void> {
    const start = () => this.#withRoom(`Sandbox ${id} was not started`, () => this.#resume(id, signal));
    await oneAtATime(this, id, start);
  }

  async #resume(id: string, signal: AbortSignal | undefined): Promise<void> {
    const folder = this.#known(id);
    const { why, bytes = 0 } = folder.diskStop() ?? {};
    await this.#start(id, folder, signal);
    if (why !== undefined) folder.recordDiskStop({ bytes });
  }

  async destroy(id: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!isSandboxId(id)) return;
    await oneAtATime(this, id, async () => {
      const folder = new SandboxFolder(this.#root, id);
      if (!folder.exists()) return;
      await this.#withRoom(`Sandbox ${id} was not deleted`, () => this.#remove(id, folder));
    });
  }

  async connect(id: string): Promise<GuestConnection> {
    await this.#memory.reachable(id);
    return { stream: await connectToGuestIn(this.#running(id).path) };
  }

  /** By its cgroup; undefined where it has none. */
  cpuTime(id: string): Promise<CpuTime | undefined> {
    const started =
      this.#observe(id).state === 'running' ? new SandboxFolder(this.#root, id).started() : undefined;
    const folders = started?.cgroup?.length === 0 ? scopeFolders(started.process.pid) : started?.cgroup;
    return Promise.resolve(readCpuTime(folders ?? []));
  }

  async *list(signal?: AbortSignal): AsyncIterable<string> {
    for (const name of readdirSync(this.#root)) {
      signal?.throwIfAborted();
      if (isSandboxId(name)) yield name;
    }
  }

  async close(): Promise<void> {
    await this.#watch.close();
    await this.#isolation;
    this.#channels.closeAll();
  }

  async #saveMemory(id: string, maxBytes: number): Promise<Readable> {
    const folder = this.#running(id);
    const started = folder.started();
    if (started === undefined) throw sandboxNotFound(id);
    try {
      return await this.#memory.save(id, folder, started, maxBytes);
    } catch (error) {
      // Its guest does not listen any more.
      if (error instanceof GuestLost) await this.#end(id, folder);
      throw error;
    }
  }

  /** @returns why it runs only from its files */
  async #continueSaved(
    id: string,
    folder: SandboxFolder,
    resources: SandboxSpec['resources'],
    saved: Saved,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    folder.make(ownerOf(id));
    folder.keepSpec({ resources });
    const size = { ...this.defaultSize, ...resources };
    const startIn = (isolation: IsolationKind, memory?: SavedMemory) =>
      this.#starter.start(id, folder, isolation, size, signal, memory);
    const prepare = () => startIn(FILLS).catch(() => startIn('gvisor'));
    const why = await this.#memory.load(id, folder, saved, prepare, async (memory) => {
      await this.#end(id, folder);
      // Programs may have connections to it, so it must exist.
      await this.#openChannel(id, folder, 'gvisor');
      await startIn('gvisor', memory);
    });
    folder.mark('made');
    return why;
  }

  #observe(id: string): Omit<SandboxObservation, 'podName'> {
    if (!isSandboxId(id)) return { state: 'absent' };
    const folder = new SandboxFolder(this.#root, id);
    const started = folder.started();
    // Most calls are for a started sandbox: the folder is checked only without a start record.
    if (started === undefined && !folder.exists()) return { state: 'absent' };
    if (folder.has('destroying')) return { state: 'stopped', reason: 'its removal has begun' };
    if (!folder.has('made')) return { state: 'creating' };
    if (started === undefined) {
      const stoppedFor = folder.diskStop()?.why;
      return stoppedFor === undefined ? { state: 'stopped' } : { state: 'stopped', stoppedFor };
    }
    if (!isAlive(started.process)) {
      return { state: 'stopped', reason: 'its processes have ended', stoppedFor: folder.diskStop()?.why };
    }
    if (!speaksOurs(started)) return { state: 'stopped', reason: 'another version of Porthole started it' };
    return hasGuestSocket(folder.path, started.isolation)
      ? { state: 'running' }
      : { state: 'stopped', reason: 'its start was interrupted' };
  }

  *#watched(): Iterable<WatchedSandbox> {
    for (const id of readdirSync(this.#root)) {
      if (this.#observe(id).state !== 'running') continue;
      const folder = new SandboxFolder(this.#root, id);
      const limit = (folder.spec().resources?.diskMb ?? this.defaultSize.diskMb) * 2 ** 20;
      const { bytes } = folder.diskStop() ?? {};
      yield { id, folder: folder.path, limit, allowed: bytes === undefined ? limit : bytes + SLACK };
    }
  }

  /** Called again until it succeeds. */
  #stopForDisk(id: string, why: string, bytes: number): Promise<void> {
    const record = () => new SandboxFolder(this.#root, id).recordDiskStop({ why, bytes });
    return asEssential(async () => {
      // Recorded before the stop: a host that is killed meanwhile does not start it again.
      const isRecorded = fitsOnDisk(record);
      // On a full disk its processes end first: they would fill the space that is freed.
      if (!isRecorded) await this.stop(id);
      try {
        await this.#onDiskStop?.stop(id, why);
      } finally {
        if (this.#observe(id).state === 'running') await this.stop(id);
      }
      if (!isRecorded) await this.#withRoom(`The stop of sandbox ${id} was not recorded`, record);
    });
  }

  /** Repeats work that the full disk kept from writing, once there is room. */
  async #withRoom<T>(what: string, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      if (this.#space?.makeRoom() !== true) throw diskFull(what, error);
    }
    return work();
  }

  #known(id: string): SandboxFolder {
    const folder = new SandboxFolder(this.#root, id);
    if (isSandboxId(id) && folder.exists() && !folder.has('destroying')) return folder;
    throw sandboxNotFound(id);
  }

  #running(id: string): SandboxFolder {
    if (this.#observe(id).state === 'running') return new SandboxFolder(this.#root, id);
    const folder = this.#known(id);
    const state = folder.has('made') ? 'is stopped. Resume it first.' : 'is still being created. Try again.';
    throw new PortholeError('sandbox_not_running', `Sandbox ${id} ${state}`);
  }

  /** @param fresh the spec to store for a sandbox that is being created */
  async #start(
    id: string,
    folder: SandboxFolder,
    signal: AbortSignal | undefined,
    fresh?: StoredSpec,
  ): Promise<void> {
    const { isolation } = await this.probe();
    signal?.throwIfAborted();
    const started = folder.exists() ? folder.started() : undefined;
    if (started !== undefined && isAlive(started.process)) {
      if (this.#observe(id).state === 'running') return;
      // A host died during this start, or another version of Porthole started it.
      await this.#end(id, folder);
    }
    folder.make(isolation === 'none' ? undefined : ownerOf(id));
    if (fresh !== undefined && !folder.has('made')) folder.keepSpec(fresh);
    const { resources } = folder.spec();
    const size = { ...this.defaultSize, ...resources };
    // No stop has ended them: what was lost belongs to an earlier start.
    if (started !== undefined) this.#memoryLost.delete(id);
    if (await this.#continue(id, folder, isolation, size)) return;
    await this.#starter.start(id, folder, isolation, size, signal);
    await this.#openChannel(id, folder, isolation);
    folder.mark('made');
  }

  async #suspend(id: string, folder: SandboxFolder): Promise<void> {
    const started = folder.started();
    let lost: string | undefined;
    if (started !== undefined && this.#observe(id).state === 'running' && this.#space?.isLow() !== true) {
      // Its processes end in any case: without their memory if it cannot be saved.
      await this.#memory.suspend(id, folder, started).catch((error: unknown) => {
        const reason = error instanceof MemoryNotSaved ? error.reason : String(error);
        lost = `its memory could not be saved (${reason}), and it started from its files`;
      });
    }
    await this.#end(id, folder);
    if (lost !== undefined) this.#memoryLost.set(id, lost);
  }

  /** Starts the sandbox with the memory that a stop has saved. False: it has none, or lost it. */
  async #continue(
    id: string,
    folder: SandboxFolder,
    isolation: IsolationKind,
    size: SandboxSize,
  ): Promise<boolean> {
    const memory = isolation === 'gvisor' ? this.#memory.kept(folder) : undefined;
    try {
      if (memory === undefined) return false;
      await this.#openChannel(id, folder, isolation);
      await this.#starter.start(id, folder, isolation, size, undefined, memory);
      return true;
    } catch {
      this.#memoryLost.set(id, 'its processes could not be continued, and it started from its files');
      this.#channels.close(id);
      return false;
    } finally {
      await this.#memory.forget(folder);
    }
  }

  async #openChannel(id: string, folder: SandboxFolder, isolation: IsolationKind): Promise<void> {
    await this.#channels.open(id, folder.channel, { owner: isolation === 'none' ? undefined : ownerOf(id) });
  }

  async #end(id: string, folder: SandboxFolder): Promise<void> {
    this.#memoryLost.delete(id);
    this.#channels.close(id);
    const started = folder.started();
    if (started !== undefined) await endProcesses(id, started);
    folder.forgetStarted();
  }

  async #remove(id: string, folder: SandboxFolder): Promise<void> {
    // Recorded before it begins, so that the next host completes it after a crash.
    folder.mark('destroying');
    await this.#end(id, folder);
    await removeFolder(folder.path);
    this.#watch.forget(id);
  }
}
