/**
 * The `docker` SandboxProvider: a sandbox is a container of a Docker-compatible engine and a named
 * volume for `/workspace`. Both have the same name; a stopped sandbox is a volume without a running
 * container. The volume is created first and removed last: a sandbox exists if and only if its
 * volume exists.
 *
 *     const provider = new DockerProvider({ engine: { address: engineAddress(undefined) },
 *     installation, image, channels });
 *     const { warnings } = await provider.probe();   // reaches the engine, or says why not
 *
 * Several installations may share an engine: each lists and changes only its own sandboxes.
 * Sandboxes outlive the host, and the next host finds them running.
 */
import type { ProcessIdentity } from '#adapters/local/process-identity.ts';
import type { MachineTools } from '#adapters/egress/machine-tools.ts';
import { GuestClient } from '#adapters/guest/guest-client.ts';
import { guestRuntime, guestCache } from '#adapters/guest/guest-runtime.ts';
import type { ChannelServices } from '#adapters/sandboxes/sandbox-channels.ts';
import {
  sandboxNotFound,
  checkSandboxId,
  isSandboxId,
  checkAtMost,
  networkNotSupported,
} from '#adapters/sandboxes/sandbox-errors.ts';
import type {
  Enforcement,
  GuestConnection,
  SandboxObservation,
  SandboxProvider,
  SandboxSize,
  SandboxSpec,
} from '#core/sandboxes/sandbox-provider.ts';
import { onceOpen, oneAtATime } from '#base/concurrency.ts';
import { ContainerChannels } from './container-channels.ts';
import { ContainerLife, type ContainerLifeOptions } from './container-life.ts';
import { containerProcess, containerState, type RunningContainer } from './container-state.ts';
import { findImage } from './image-supply.ts';
import { DEFAULT_LIMITS, type SandboxLimits } from './container-limits.ts';
import { type FoundVolume, SandboxVolumes } from './sandbox-volume.ts';
import {
  Engine,
  type EngineOptions,
  engineFacts,
  type EngineProbe,
  portError,
  probeEngine,
} from './engine.ts';
import { GuestRelays } from './guest-relays.ts';
import { RunningContainers } from './running-containers.ts';
import { SandboxNames } from './sandbox-names.ts';

export interface DockerProviderOptions {
  readonly engine: EngineOptions;
  /**
   * Distinguishes this installation from others on the same engine, e.g. its machine and data
   * folder.
   */
  readonly installation: string;
  /** Image of sandboxes that name no image: needs sh, bash, tar and the usual small programs. */
  readonly image: string;
  /**
   * Folder of this machine for the sockets of sandboxes' channels; mounted into sandboxes if the
   * engine runs on this machine.
   * @default no channels
   */
  readonly channels?: string | undefined;
  /** @default 2 cores, 2 GiB, 4,096 processes, 10 GiB */
  readonly limits?: Partial<SandboxLimits> | undefined;
  /** Name of an engine's network for sandboxes to join. @default `none`: loopback only */
  readonly network?: string | undefined;
  /**
   * Settings that sandboxes take over from the package managers of this machine. @default nothing
   */
  readonly tools?: Pick<MachineTools, 'environment' | 'certificates'> | undefined;
  /** Whether the engine's volumes can have a size. @default tried with the first one */
  readonly hasQuotas?: boolean | undefined;
  /** How the engine makes containers. @default by Docker's API */
  readonly containers?: ((options: ContainerLifeOptions) => ContainerLife) | undefined;
}

const START_MS = 30_000;

export class DockerProvider implements SandboxProvider {
  readonly name: string = 'docker';
  readonly defaultSize: SandboxSize;
  readonly #network: string;
  readonly #engine: Engine;
  readonly #names: SandboxNames;
  readonly #volumes: SandboxVolumes;
  readonly #life: ContainerLife;
  readonly #relays: GuestRelays;
  readonly #channels: ContainerChannels;
  readonly #running: RunningContainers;
  /** By sandbox: the start of its container that is prepared for commands. */
  readonly #prepared = new Map<string, string>();
  readonly #starting = new Set<string>();
  readonly #known = onceOpen(() => engineFacts(this.#engine));

  /** @throws Error if a certificate of the engine cannot be read */
  constructor(options: DockerProviderOptions) {
    const { engine, installation, image, channels, network = 'none', tools } = options;
    const { containers = (life) => new ContainerLife(life) } = options;
    const wanted = { ...DEFAULT_LIMITS, ...options.limits };
    const { cpu, memoryMb, diskMb } = wanted;
    this.defaultSize = { cpu, memoryMb, diskMb };
    this.#network = network;
    this.#engine = new Engine(engine);
    this.#names = new SandboxNames(installation);
    this.#volumes = new SandboxVolumes(this.#engine, options.hasQuotas);
    this.#channels = new ContainerChannels(this.#engine.isLocal ? channels : undefined, tools?.certificates);
    this.#life = containers({
      engine: this.#engine,
      names: this.#names,
      volumes: this.#volumes,
      image,
      network,
      environment: network === 'none' ? (tools?.environment ?? {}) : {},
      limits: async (resources) => {
        const limited = { ...wanted, ...resources };
        // An engine refuses more cores than its machine has.
        return { ...limited, cpu: Math.min(limited.cpu, (await this.#known()).cpus) };
      },
      channelFolder: (name) => this.#channels.folder(name),
      channelsUnseen: () => this.#channels.giveUp(),
      guest: () => guestRuntime(guestCache(process.env)),
    });
    this.#running = new RunningContainers(this.#life);
    this.#relays = new GuestRelays(this.#engine);
  }

  /** Finds out what the engine is and what it enforces. @throws EngineError if it is unreachable */
  async probe(): Promise<EngineProbe> {
    return probeEngine(await this.#known(), this.#volumes);
  }

  /** Updates the authorities that the tools of a running sandbox trust. */
  writeCertificates(id: string): Promise<void> {
    return oneAtATime(this, id, () => this.#channels.writeCertificates(id));
  }

  /** Opens sockets to this process in each running sandbox, and in each that starts later. */
  async serveChannels(services: ChannelServices): Promise<void> {
    this.#channels.begin(services);
    for await (const id of this.list()) {
      await oneAtATime(this, id, async () => {
        const found = await this.#life.container(id);
        if (found === undefined || containerState(found).state !== 'running') return;
        await this.#channels.openFor(id, this.#names.objectName(id));
      });
    }
  }

  /** Path of that socket inside a sandbox; undefined if it cannot be mounted there. */
  channelPath(): string | undefined {
    return this.#channels.path;
  }

  /** Whether the sandboxes' connections can go through this process. */
  brokersNetwork(): boolean {
    return this.#network === 'none' && this.#channels.path !== undefined;
  }

  #whyNoBroker(): string {
    return this.#network === 'none'
      ? 'the container engine runs on another machine'
      : `every sandbox joins ${this.#network}, which Porthole does not filter`;
  }

  /**
   * No registry serves `localhost`: such an image must exist in the engine. Others are pulled on
   * demand.
   */
  async runsImage(reference: string, signal?: AbortSignal): Promise<boolean> {
    if (!reference.startsWith('localhost/')) return true;
    return (await findImage(this.#engine, reference, signal)) !== undefined;
  }

  async enforcement(): Promise<Enforcement> {
    // No claims about an engine that does not answer.
    const { unenforced, filtersSystemCalls } = await this.#known().catch(() => ({
      unenforced: ['cpus', 'memory', 'pids'],
      filtersSystemCalls: false,
    }));
    return {
      cpu: unenforced.includes('cpus') ? null : 'cgroup',
      memoryMb: unenforced.includes('memory') ? null : 'cgroup',
      diskMb: this.#volumes.hasQuotas === true ? 'volume quota' : null,
      network: this.#network === 'none' ? 'network namespace' : null,
      processes: unenforced.includes('pids') ? null : 'cgroup',
      systemCalls: filtersSystemCalls ? 'seccomp profile of the engine' : null,
    };
  }

  async create(spec: SandboxSpec, signal?: AbortSignal): Promise<void> {
    const { id, network = false } = spec;
    checkSandboxId(id);
    if (network && !this.brokersNetwork()) throw networkNotSupported(this.#whyNoBroker());
    await this.#asPortErrors(id, () =>
      this.#coming(id, async () => {
        const { cpus } = await this.#known();
        checkAtMost(spec.resources, { cpu: cpus, memoryMb: Infinity, diskMb: Infinity });
        const volume = await this.#life.keepVolume(spec, signal);
        await this.#start(id, volume, signal);
      }),
    );
  }

  inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation> {
    return this.#asPortErrors(id, async () => {
      const podName = this.#names.objectName(id);
      const found = isSandboxId(id) ? await this.#life.container(id, signal) : undefined;
      const now = found === undefined ? undefined : containerState(found);
      if (now?.state === 'running') return { state: 'running', podName };
      if (this.#starting.has(id) || now?.state === 'creating') {
        return {
          state: 'creating',
          podName,
          reason: now?.reason ?? 'its image and volume are being prepared',
        };
      }
      if (now !== undefined) return { state: 'stopped', podName, reason: now.reason };
      const volume = isSandboxId(id) ? await this.#life.findVolume(id, signal) : undefined;
      return { state: volume === undefined ? 'absent' : 'stopped', podName };
    });
  }

  stop(id: string, signal?: AbortSignal): Promise<void> {
    return this.#asPortErrors(id, () =>
      oneAtATime(this, id, async () => {
        if (!isSandboxId(id)) throw sandboxNotFound(id);
        await this.#life.volume(id, signal);
        await this.#end(id, () => this.#life.end(id, signal));
      }),
    );
  }

  resume(id: string, signal?: AbortSignal): Promise<void> {
    return this.#asPortErrors(id, () =>
      this.#coming(id, async () => {
        if (!isSandboxId(id)) throw sandboxNotFound(id);
        await this.#start(id, await this.#life.volume(id, signal), signal);
      }),
    );
  }

  async destroy(id: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!isSandboxId(id)) return;
    await this.#asPortErrors(id, () =>
      oneAtATime(this, id, async () => {
        await this.#end(id, () => this.#life.remove(id, signal));
        this.#channels.remove(this.#names.objectName(id));
      }),
    );
  }

  connect(id: string, _operation: string, signal?: AbortSignal): Promise<GuestConnection> {
    return this.#asPortErrors(id, () =>
      this.#running.use(id, signal, (container) => this.#connectTo(id, container, signal)),
    );
  }

  /**
   * The first process of a running sandbox's container; undefined if this process does not see it,
   * for example on another machine.
   * @throws PortholeError `sandbox_not_found`, `sandbox_not_running`
   */
  firstProcess(id: string, signal?: AbortSignal): Promise<ProcessIdentity | undefined> {
    return this.#asPortErrors(id, async () => {
      const { containerId } = await this.#running.look(id, signal);
      return containerProcess(containerId);
    });
  }

  async *list(signal?: AbortSignal): AsyncIterable<string> {
    const filters = this.#names.filters();
    const { Volumes } = await this.#engine.call(
      'list volumes',
      (docker, abortSignal) => docker.listVolumes({ filters, abortSignal }),
      signal,
    );
    // Containers come second: a crash during a removal can leave one without its volume.
    const containers = await this.#engine.call(
      'list containers',
      (docker, abortSignal) => docker.listContainers({ all: true, filters, abortSignal }),
      signal,
    );
    const objects = [
      ...(Volumes ?? []).map(({ Name, Labels }) => [Name, Labels] as const),
      ...containers.map(({ Names, Labels }) => [Names[0]?.replace(/^\//, '') ?? '', Labels] as const),
    ];
    const ids = objects.map(([name, labels]) => this.#names.idOf(name, labels));
    for (const id of new Set(ids)) if (id !== undefined) yield id;
  }

  async close(): Promise<void> {
    this.#channels.closeAll();
    this.#relays.closeAll();
    this.#engine.close();
  }

  /** Runs one start at a time per sandbox, and reports it as starting meanwhile. */
  #coming(id: string, work: () => Promise<void>): Promise<void> {
    return oneAtATime(this, id, async () => {
      this.#starting.add(id);
      try {
        await work();
      } finally {
        this.#starting.delete(id);
      }
    });
  }

  async #start(id: string, volume: FoundVolume, signal?: AbortSignal): Promise<void> {
    const container = await this.#life.run(id, volume, signal);
    if (this.#prepared.get(id) !== container.startedAt) await this.#prepare(id, volume, container, signal);
    this.#prepared.set(id, container.startedAt);
    await this.#channels.openFor(id, volume.Name);
    this.#running.saw(id, container);
  }

  async #prepare(
    id: string,
    volume: FoundVolume,
    container: RunningContainer,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    const guest = new GuestClient({
      sandboxId: id,
      connect: (_operation, limit) => this.#connectTo(id, container, limit),
      answerWithin: START_MS,
    });
    // The state of an ended container says more than a guest that does not answer.
    const health = await guest.health(signal).catch(async (error: unknown) => {
      await this.#running.look(id, signal);
      throw error;
    });
    if (health.workspace !== false) return;
    await this.#life.giveWorkspace(id, volume, signal);
    await guest.health(signal);
  }

  async #connectTo(
    id: string,
    container: RunningContainer,
    signal: AbortSignal | undefined,
  ): Promise<GuestConnection> {
    const way = { id, name: this.#names.objectName(id), check: () => this.#running.look(id, undefined) };
    return { stream: await this.#relays.connect(way, container, signal) };
  }

  async #end(id: string, end: () => Promise<void>): Promise<void> {
    this.#prepared.delete(id);
    this.#channels.close(id);
    this.#relays.end(id);
    await this.#running.ending(id, end);
  }

  async #asPortErrors<T>(id: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw portError(id, error);
    }
  }
}
