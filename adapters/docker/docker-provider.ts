/**
 * The `docker` SandboxProvider: a sandbox is a container of a Docker-compatible engine, and the named volume of its `/workspace`. Both bear the same name; stopped is the
 * volume without a container that runs. The volume comes first and goes last: where there is none, there is no sandbox.
 *
 *     const provider = createDockerProvider({ engine: { address: engineAddress(undefined) }, installation, image, channels });
 *     const { warnings } = await provider.probe();   // reaches the engine, or says why not
 *
 * Several installations may share an engine: each knows, lists and touches its own sandboxes alone. Sandboxes outlive the host, and the next one finds them running.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import {
  CHANNEL_SOCKET,
  SandboxChannels,
  type ServeChannel,
} from '#adapters/sandboxes/channel/sandbox-channels.ts';
import {
  checkPort,
  sandboxNotFound,
  sandboxNotRunning,
  transportError,
} from '#adapters/sandboxes/sandbox-errors.ts';
import { checkSandboxId, isSandboxId } from '#adapters/sandboxes/sandbox-id.ts';
import { Serial } from '#adapters/sandboxes/serial.ts';
import type {
  ExecCommand,
  ExecProcess,
  SandboxObservation,
  SandboxProvider,
  SandboxSpec,
} from '#core/ports/sandbox-provider.ts';
import { ContainerLife } from './containers/container-life.ts';
import { containerState, type RunningContainer } from './containers/container-state.ts';
import { CHANNEL_FOLDER } from './containers/sandbox-container.ts';
import { DEFAULT_LIMITS, type SandboxLimits } from './containers/sandbox-limits.ts';
import { type FoundVolume, SandboxVolumes } from './containers/sandbox-volume.ts';
import { Engine, type EngineOptions } from './engine/engine.ts';
import { isStatus } from './engine/engine-error.ts';
import { type EngineFacts, engineFacts } from './engine/engine-facts.ts';
import { ContainerShell } from './exec/container-shell.ts';
import { portError } from './provider-errors.ts';
import { SandboxNames } from './sandbox-names.ts';

export interface DockerProviderOptions {
  readonly engine: EngineOptions;
  /** What tells this installation from others on the same engine, e.g. its machine and data folder. */
  readonly installation: string;
  /** Image of sandboxes that ask for none: needs sh, bash, tar and the usual small programs. */
  readonly image: string;
  /** Folder of this machine for the sockets of sandboxes' channels; shown to them where the engine runs on it, too. */
  readonly channels: string;
  /** @default 2 cores, 2 GiB, 4,096 processes, 10 GiB */
  readonly limits?: Partial<SandboxLimits> | undefined;
  /** Name of an engine's network for sandboxes to join. @default `none`: their own loopback and nothing else */
  readonly network?: string | undefined;
}

export interface EngineProbe extends EngineFacts {
  /** Whether /workspace is held to its size. */
  readonly hasQuotas: boolean;
  /** What to tell whoever runs this, in sentences. */
  readonly warnings: readonly string[];
}

export interface DockerProvider extends SandboxProvider {
  readonly name: 'docker';
  /** What the engine is and enforces. @throws EngineError where it cannot be reached */
  probe(): Promise<EngineProbe>;
  /** Opens a socket to this process in each running sandbox, and in each that is started from here on; served by what `serve` makes. */
  serveChannels(serve: ServeChannel): Promise<void>;
  /** Where processes in a sandbox find that socket; undefined where it cannot be shown to them. */
  channelPath(): string | undefined;
}

/** Between the looks at a container whose command was killed, in milliseconds: the engine learns of the command's end before it learns of the container's. */
const LOOKS_MS = [0, 200];

/** @throws Error where a certificate of the engine's cannot be read */
export function createDockerProvider(options: DockerProviderOptions): DockerProvider {
  return new ContainerProvider(options);
}

class ContainerProvider implements DockerProvider {
  readonly name = 'docker';
  readonly #engine: Engine;
  readonly #names: SandboxNames;
  readonly #volumes: SandboxVolumes;
  readonly #life: ContainerLife;
  readonly #shell: ContainerShell;
  readonly #serial = new Serial();
  readonly #channels = new SandboxChannels();
  readonly #channelRoot: string | undefined;
  /** Containers that were seen running, so that not every command has to look. */
  readonly #seen = new Map<string, RunningContainer>();
  /** Sandboxes that are coming up. */
  readonly #starting = new Set<string>();
  /** Sandboxes that are being ended. */
  readonly #ending = new Set<string>();
  #facts: Promise<EngineFacts> | undefined;

  constructor({
    engine,
    installation,
    image,
    channels,
    limits = {},
    network = 'none',
  }: DockerProviderOptions) {
    const wanted = { ...DEFAULT_LIMITS, ...limits };
    this.#engine = new Engine(engine);
    this.#names = new SandboxNames(installation);
    this.#volumes = new SandboxVolumes(this.#engine, wanted.diskMebibytes);
    this.#channelRoot = this.#engine.isLocal ? channels : undefined;
    this.#life = new ContainerLife({
      engine: this.#engine,
      names: this.#names,
      volumes: this.#volumes,
      image,
      network,
      // An engine refuses more cores than there are.
      limits: async () => ({ ...wanted, cpus: Math.min(wanted.cpus, (await this.#known()).cpus) }),
      channelFolder: (name) => this.#makeChannelFolder(name),
    });
    this.#shell = new ContainerShell(this.#engine);
  }

  async probe(): Promise<EngineProbe> {
    const facts = await this.#known();
    const name = `porthole-probe-${randomBytes(8).toString('hex')}`;
    const hasQuotas = await this.#volumes.probe(name, {});
    const warnings = [
      ...facts.unenforced.map(
        (limit) =>
          `The container engine's kernel enforces no limit of ${limit}: one sandbox can starve the machine.`,
      ),
      ...(hasQuotas
        ? []
        : [
            "The container engine's volumes know no quotas, so /workspace may grow until the disk is full (no single file beyond the limit): put its data on XFS with project quotas.",
          ]),
    ];
    return { ...facts, hasQuotas, warnings };
  }

  async serveChannels(serve: ServeChannel): Promise<void> {
    this.#channels.begin(serve);
    for await (const id of this.list()) {
      await this.#serial.run(id, async () => {
        const found = await this.#life.container(id);
        if (found !== undefined && containerState(found).state === 'running') await this.#openChannel(id);
      });
    }
  }

  channelPath(): string | undefined {
    return this.#channelRoot === undefined ? undefined : join(CHANNEL_FOLDER, CHANNEL_SOCKET);
  }

  async create({ id, image }: SandboxSpec, signal?: AbortSignal): Promise<void> {
    checkSandboxId(id);
    await this.#told(id, () =>
      this.#coming(id, async () => {
        const volume = await this.#life.keepVolume(id, image, signal);
        await this.#start(id, volume, signal);
      }),
    );
  }

  inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation> {
    return this.#told(id, async () => {
      const podName = this.#names.objectName(id);
      const found = isSandboxId(id) ? await this.#life.container(id, signal) : undefined;
      const now = found === undefined ? undefined : containerState(found);
      if (now?.state === 'running') return { state: 'running', podName };
      if (this.#starting.has(id) || now?.state === 'creating') {
        return { state: 'creating', podName, reason: now?.reason ?? 'its image and volume are made ready' };
      }
      if (now !== undefined) return { state: 'stopped', podName, reason: now.reason };
      const volume = isSandboxId(id) ? await this.#life.findVolume(id, signal) : undefined;
      return { state: volume === undefined ? 'absent' : 'stopped', podName };
    });
  }

  stop(id: string, signal?: AbortSignal): Promise<void> {
    return this.#told(id, () =>
      this.#serial.run(id, async () => {
        if (!isSandboxId(id)) throw sandboxNotFound(id);
        await this.#life.volume(id, signal);
        await this.#ended(id, () => this.#life.end(id, signal));
      }),
    );
  }

  resume(id: string, signal?: AbortSignal): Promise<void> {
    return this.#told(id, () =>
      this.#coming(id, async () => {
        if (!isSandboxId(id)) throw sandboxNotFound(id);
        await this.#start(id, await this.#life.volume(id, signal), signal);
      }),
    );
  }

  async destroy(id: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!isSandboxId(id)) return;
    await this.#told(id, () =>
      this.#serial.run(id, async () => {
        await this.#ended(id, () => this.#life.remove(id, signal));
        if (this.#channelRoot !== undefined)
          rmSync(this.#channelFolder(id), { recursive: true, force: true });
      }),
    );
  }

  exec(id: string, command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> {
    return this.#told(id, () => {
      signal?.throwIfAborted();
      const isUp = (container: RunningContainer) => this.#isUp(id, container);
      return this.#running(id, signal, (container) => this.#shell.exec(id, container, command, isUp, signal));
    });
  }

  dial(id: string, port: number, signal?: AbortSignal): Promise<Duplex> {
    return this.#told(id, () => {
      signal?.throwIfAborted();
      checkPort(port);
      return this.#running(id, signal, (container) => this.#shell.dial(id, container, port, signal));
    });
  }

  async *list(signal?: AbortSignal): AsyncIterable<string> {
    const filters = this.#names.filters();
    const { Volumes } = await this.#engine.call(
      'list volumes',
      (docker, abortSignal) => docker.listVolumes({ filters, abortSignal }),
      signal,
    );
    // Containers come second: one without its volume is what a crash in the middle of a removal can leave.
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
    await this.#shell.close();
    this.#engine.close();
  }

  #known(): Promise<EngineFacts> {
    this.#facts ??= engineFacts(this.#engine).catch((error: unknown) => {
      this.#facts = undefined;
      throw error;
    });
    return this.#facts;
  }

  /** One after the other for a sandbox, which is told to be coming up meanwhile. */
  #coming(id: string, work: () => Promise<void>): Promise<void> {
    return this.#serial.run(id, async () => {
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
    const isNew = this.#seen.get(id)?.startedAt !== container.startedAt;
    if (isNew) await this.#prepare(id, volume, container, signal);
    await this.#openChannel(id);
    this.#seen.set(id, container);
  }

  async #prepare(
    id: string,
    volume: FoundVolume,
    container: RunningContainer,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    if ((await this.#shell.prepare(container, signal)) === undefined) return;
    await this.#life.giveWorkspace(id, volume, signal);
    const trouble = await this.#shell.prepare(container, signal);
    if (trouble !== undefined) throw transportError(id, trouble);
  }

  /** Ends the sandbox; its commands are lost from here on, however they end. */
  async #ended(id: string, end: () => Promise<void>): Promise<void> {
    this.#ending.add(id);
    this.#seen.delete(id);
    this.#channels.close(id);
    try {
      await end();
    } finally {
      this.#ending.delete(id);
    }
  }

  /** Does something with the running container; looks again where the one that was seen last does not run any more. */
  async #running<T>(
    id: string,
    signal: AbortSignal | undefined,
    use: (container: RunningContainer) => Promise<T>,
  ): Promise<T> {
    const seen = this.#seen.get(id);
    if (seen !== undefined) {
      try {
        return await use(seen);
      } catch (error) {
        if (!isGone(error)) throw error;
        this.#seen.delete(id);
      }
    }
    if (!isSandboxId(id)) throw sandboxNotFound(id);
    const found = await this.#life.container(id, signal);
    if (found === undefined) {
      await this.#life.volume(id, signal);
      throw sandboxNotRunning(id, 'it is stopped; resume it first');
    }
    const now = containerState(found);
    if (now.state !== 'running') throw sandboxNotRunning(id, now.reason);
    try {
      const result = await use(now.container);
      this.#seen.set(id, now.container);
      return result;
    } catch (error) {
      if (isGone(error)) throw sandboxNotRunning(id, 'it has just stopped', error);
      throw error;
    }
  }

  async #isUp(id: string, { containerId, startedAt }: RunningContainer): Promise<boolean> {
    for (const wait of LOOKS_MS) {
      await pause(wait);
      if (this.#ending.has(id)) return false;
      const found = await this.#life.container(id);
      const now = found === undefined ? undefined : containerState(found);
      if (now?.state !== 'running') return false;
      if (now.container.containerId !== containerId || now.container.startedAt !== startedAt) return false;
    }
    return true;
  }

  #channelFolder(id: string): string {
    return join(this.#channelRoot ?? '', this.#names.objectName(id));
  }

  #makeChannelFolder(name: string): string | undefined {
    if (this.#channelRoot === undefined) return undefined;
    mkdirSync(this.#channelRoot, { recursive: true, mode: 0o700 });
    // Its user passes through it; nobody else gets as far as here.
    const folder = join(this.#channelRoot, name);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    return folder;
  }

  async #openChannel(id: string): Promise<void> {
    const folder = this.#makeChannelFolder(this.#names.objectName(id));
    if (folder !== undefined) await this.#channels.open(id, folder, { everybody: true });
  }

  async #told<T>(id: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw portError(id, error);
    }
  }
}

/** The container is not there, or does not run: nothing was started in it. */
function isGone(error: unknown): boolean {
  return isStatus(error, 404) || isStatus(error, 409);
}
