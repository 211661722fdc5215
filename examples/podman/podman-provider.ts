/**
 * A SandboxProvider for Podman, as an example of a further provider (`docs/providers.md`). A
 * sandbox is a container and two volumes: one for `/workspace`, one for the state of its guest. It
 * exists if and only if the volume of `/workspace` exists; a stopped sandbox has no container.
 *
 *     const provider = new PodmanProvider({ socket, installation, image });
 */
import { supplyImage } from '#adapters/docker/image-supply.ts';
import { DEFAULT_LIMITS } from '#adapters/docker/container-limits.ts';
import { type RunningContainer } from '#adapters/docker/container-state.ts';
import { isStatus, portError } from '#adapters/docker/engine.ts';
import { GuestRelays } from '#adapters/docker/guest-relays.ts';
import {
  guestProcess,
  HOME,
  STATE_VOLUME,
  stateVolume,
  USER,
  WORKSPACE,
} from '#adapters/docker/sandbox-container.ts';
import { imageOf, type Labels, SandboxNames, specOf } from '#adapters/docker/sandbox-names.ts';
import { GuestClient } from '#adapters/guest/guest-client.ts';
import { guestRuntime, guestCache } from '#adapters/guest/guest-runtime.ts';
import { DEFAULT_SIZE } from '#adapters/sandboxes/default-size.ts';
import {
  checkSandboxId,
  isSandboxId,
  networkNotSupported,
  sandboxNotFound,
  sandboxNotRunning,
} from '#adapters/sandboxes/sandbox-errors.ts';
import type {
  Enforcement,
  GuestConnection,
  SandboxObservation,
  SandboxProvider,
  SandboxSpec,
} from '#core/sandboxes/sandbox-provider.ts';
import { oneAtATime } from '#base/concurrency.ts';
import { GUEST_COMMAND, GUEST_FOLDER } from '#protocol/guest/guest-pod.ts';
import { Podman } from './podman.ts';

export interface PodmanProviderOptions {
  /** Path of the socket of `podman system service`, which runs as root on this machine. */
  readonly socket: string;
  /** Distinguishes this installation from others on the same Podman. */
  readonly installation: string;
  /** Image of sandboxes that name no image. */
  readonly image: string;
}

/** The fields of a container that are read. */
interface Container {
  readonly Id: string;
  readonly State: { readonly Status: string; readonly StartedAt: string; readonly ExitCode: number };
  readonly Config: { readonly Labels: Labels | null };
}

/** The fields of a volume that are read. */
interface Volume {
  readonly Name: string;
  readonly Labels: Labels | null;
}

interface Info {
  readonly host: {
    readonly cgroupControllers: readonly string[] | null;
    readonly security: { readonly seccompEnabled: boolean };
  };
}

/** Longest time for a guest to start, in milliseconds. */
const START_MS = 30_000;

const MIB = 1024 * 1024;

/** The period of the kernel's scheduler for limits of CPU time, in microseconds. */
const PERIOD = 100_000;

/**
 * Podman's defaults for files and processes fail where it runs without CAP_SYS_RESOURCE. The kernel
 * counts `nproc` for a user, so for all sandboxes together; the cgroup limits each.
 */
const RLIMITS = { core: 0, nofile: 16_384, nproc: 32_768 };

export class PodmanProvider implements SandboxProvider {
  readonly name = 'podman';
  readonly defaultSize = DEFAULT_SIZE;
  readonly #podman: Podman;
  readonly #names: SandboxNames;
  readonly #image: string;
  readonly #relays: GuestRelays;
  /** By sandbox: the container that was seen running. */
  readonly #running = new Map<string, RunningContainer>();
  /** Sandboxes that are starting. */
  readonly #starting = new Set<string>();

  constructor({ socket, installation, image }: PodmanProviderOptions) {
    this.#podman = new Podman(socket);
    this.#names = new SandboxNames(installation);
    this.#image = image;
    this.#relays = new GuestRelays(this.#podman.engine);
  }

  async enforcement(): Promise<Enforcement> {
    const info = await this.#podman.call<Info>('GET', '/info').catch(() => undefined);
    const limited = (controller: string): string | null =>
      info?.host.cgroupControllers?.includes(controller) ? 'cgroup' : null;
    return {
      cpu: limited('cpu'),
      memoryMb: limited('memory'),
      diskMb: null,
      network: 'network namespace',
      processes: limited('pids'),
      systemCalls: info?.host.security.seccompEnabled ? 'seccomp profile of Podman' : null,
    };
  }

  runsImage(): Promise<boolean> {
    return Promise.resolve(true);
  }

  create(spec: SandboxSpec, signal?: AbortSignal): Promise<void> {
    const { id, image = this.#image, network = false } = spec;
    return this.#change(id, async () => {
      checkSandboxId(id);
      if (network) throw networkNotSupported('sandboxes of Podman have a loopback only');
      if ((await this.#volume(id, signal)) === undefined) {
        await supplyImage(this.#podman.engine, id, image, signal);
        const name = this.#names.objectName(id);
        const labels = this.#names.labels(id, image, spec);
        await this.#makeVolume(name, labels, signal);
      }
      await this.#start(id, signal);
    });
  }

  async inspect(id: string, signal?: AbortSignal): Promise<SandboxObservation> {
    const podName = this.#names.objectName(id);
    return this.#asPortErrors(id, async () => {
      const container = await this.#container(id, signal);
      if (container?.State.Status === 'running') return { state: 'running', podName };
      if (this.#starting.has(id)) return { state: 'creating', podName };
      const volume = await this.#volume(id, signal);
      if (volume === undefined) return { state: 'absent', podName };
      return { state: 'stopped', podName, reason: container && whyNot(container) };
    });
  }

  stop(id: string, signal?: AbortSignal): Promise<void> {
    return this.#change(id, async () => {
      await this.#known(id, signal);
      await this.#end(id, signal);
    });
  }

  resume(id: string, signal?: AbortSignal): Promise<void> {
    return this.#change(id, () => this.#start(id, signal));
  }

  destroy(id: string, signal?: AbortSignal): Promise<void> {
    return this.#change(id, async () => {
      if (!isSandboxId(id)) return;
      await this.#end(id, signal);
      const volume = await this.#volume(id, signal);
      // The volume of `/workspace` is last: a crash in between leaves a sandbox to destroy.
      const name = this.#names.objectName(id);
      for (const each of [stateVolume(name), ...(volume === undefined ? [] : [name])]) {
        await this.#find('DELETE', `/volumes/${each}`, signal);
      }
    });
  }

  connect(id: string, _operation: string, signal?: AbortSignal): Promise<GuestConnection> {
    return this.#asPortErrors(id, async () => {
      const container = this.#running.get(id) ?? (await this.#look(id, signal));
      try {
        return { stream: await this.#connectTo(id, container, signal) };
      } catch (error) {
        signal?.throwIfAborted();
        // The container may have ended or been replaced since.
        this.#running.delete(id);
        const now = await this.#look(id, signal);
        if (now.startedAt === container.startedAt) throw error;
        return { stream: await this.#connectTo(id, now, signal) };
      }
    });
  }

  async *list(signal?: AbortSignal): AsyncIterable<string> {
    const query = { filters: JSON.stringify(this.#names.filters()) };
    const volumes = await this.#podman.call<Volume[] | null>('GET', '/volumes/json', { query, signal });
    for (const { Name, Labels } of volumes ?? []) {
      const id = this.#names.idOf(Name, Labels);
      if (id !== undefined) yield id;
    }
  }

  async close(): Promise<void> {
    this.#relays.closeAll();
    this.#podman.engine.close();
  }

  async #start(id: string, signal?: AbortSignal): Promise<void> {
    const volume = await this.#known(id, signal);
    this.#starting.add(id);
    try {
      let container = await this.#container(id, signal);
      if (container?.State.Status !== 'running') {
        if (container !== undefined) await this.#end(id, signal);
        await this.#makeContainer(id, volume, signal);
        await this.#podman.call('POST', `/containers/${volume.Name}/start`, { signal });
        container = await this.#container(id, signal);
      }
      const running = container && { containerId: container.Id, startedAt: container.State.StartedAt };
      if (running === undefined) throw sandboxNotRunning(id, 'its container has ended');
      const connect = async () => ({ stream: await this.#connectTo(id, running, signal) });
      await new GuestClient({ sandboxId: id, connect, answerWithin: START_MS }).health(signal);
      this.#running.set(id, running);
    } finally {
      this.#starting.delete(id);
    }
  }

  async #makeContainer(id: string, { Name: name, Labels }: Volume, signal?: AbortSignal): Promise<void> {
    const image = imageOf(Labels ?? {}) ?? this.#image;
    const labels = this.#names.labels(id, image);
    const { env: imageEnv } = await supplyImage(this.#podman.engine, id, image, signal);
    const { settings, env } = guestProcess({ id, name, imageEnv });
    const limits = { ...DEFAULT_LIMITS, ...specOf(Labels).resources };
    const memory = limits.memoryMb * MIB;
    const tmpfs = (destination: string) => ({
      destination,
      type: 'tmpfs',
      source: 'tmpfs',
      options: ['rw', 'exec', 'nosuid', 'nodev', 'mode=1777', `size=${Math.ceil(memory / 4)}`],
    });
    await this.#makeVolume(stateVolume(name), labels, signal);
    await this.#podman.call('POST', '/containers/create', {
      signal,
      body: {
        name,
        image,
        labels,
        entrypoint: GUEST_COMMAND,
        command: [settings],
        env: Object.fromEntries(env.map((each) => each.split(/=(.*)/s, 2))),
        unsetenvall: true,
        user: `${USER}:${USER}`,
        // Podman starts nothing in a folder that its user has made inaccessible.
        work_dir: '/',
        read_only_filesystem: true,
        no_new_privileges: true,
        cap_drop: ['all'],
        netns: { nsmode: 'none' },
        systemd: 'false',
        image_volume_mode: 'ignore',
        healthconfig: { Test: ['NONE'] },
        log_configuration: { driver: 'none' },
        resource_limits: {
          cpu: { period: PERIOD, quota: Math.round(limits.cpu * PERIOD) },
          memory: { limit: memory, swap: memory },
          pids: { limit: limits.pids },
        },
        r_limits: Object.entries({ ...RLIMITS, fsize: limits.diskMb * MIB }).map(([type, most]) => ({
          type,
          soft: most,
          hard: most,
        })),
        // Podman makes the user of the first container the owner of a new volume.
        volumes: [
          { Name: name, Dest: WORKSPACE },
          { Name: stateVolume(name), Dest: STATE_VOLUME },
        ],
        mounts: [
          tmpfs('/tmp'),
          tmpfs(HOME),
          {
            destination: GUEST_FOLDER,
            type: 'bind',
            source: await guestRuntime(guestCache(process.env)),
            options: ['ro', 'rbind', 'nosuid', 'nodev'],
          },
        ],
      },
    });
  }

  /** Does nothing if the volume exists. */
  async #makeVolume(name: string, labels: Labels, signal?: AbortSignal): Promise<void> {
    if ((await this.#find('GET', `/volumes/${name}/json`, signal)) !== undefined) return;
    await this.#podman.call('POST', '/volumes/create', { body: { Name: name, Label: labels }, signal });
  }

  /** Ends the container, its processes and all connections to it. */
  async #end(id: string, signal?: AbortSignal): Promise<void> {
    this.#running.delete(id);
    this.#relays.end(id);
    const container = await this.#container(id, signal);
    if (container === undefined) return;
    const query = { force: true, v: true, timeout: 0 };
    await this.#find('DELETE', `/containers/${container.Id}`, signal, query);
  }

  #connectTo(id: string, container: RunningContainer, signal?: AbortSignal) {
    const way = { id, name: this.#names.objectName(id), check: () => this.#look(id) };
    return this.#relays.connect(way, container, signal);
  }

  /** @throws PortholeError `sandbox_not_found`, `sandbox_not_running` */
  async #look(id: string, signal?: AbortSignal): Promise<RunningContainer> {
    const container = await this.#container(id, signal);
    if (container === undefined) {
      await this.#known(id, signal);
      throw sandboxNotRunning(id, 'it is stopped; resume it first');
    }
    if (container.State.Status !== 'running') throw sandboxNotRunning(id, whyNot(container));
    return { containerId: container.Id, startedAt: container.State.StartedAt };
  }

  /** @throws PortholeError `sandbox_not_found` */
  async #known(id: string, signal?: AbortSignal): Promise<Volume> {
    const volume = await this.#volume(id, signal);
    if (volume === undefined) throw sandboxNotFound(id);
    return volume;
  }

  /** Undefined also if the volume of that name belongs to another installation. */
  async #volume(id: string, signal?: AbortSignal): Promise<Volume | undefined> {
    const name = this.#names.objectName(id);
    const found = await this.#find<Volume>('GET', `/volumes/${name}/json`, signal);
    return this.#names.idOf(name, found?.Labels) === id ? found : undefined;
  }

  async #container(id: string, signal?: AbortSignal): Promise<Container | undefined> {
    const name = this.#names.objectName(id);
    const found = await this.#find<Container>('GET', `/containers/${name}/json`, signal);
    return this.#names.idOf(name, found?.Config.Labels) === id ? found : undefined;
  }

  /** Like `call`; undefined if the object does not exist. */
  async #find<T>(
    method: string,
    path: string,
    signal?: AbortSignal,
    query: Readonly<Record<string, string | number | boolean>> = {},
  ): Promise<T | undefined> {
    try {
      return await this.#podman.call<T>(method, path, { query, signal });
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  /** One change of a sandbox at a time. */
  #change(id: string, work: () => Promise<void>): Promise<void> {
    return this.#asPortErrors(id, () => oneAtATime(this, id, work));
  }

  async #asPortErrors<T>(id: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw portError(id, error);
    }
  }
}

function whyNot({ State: { Status, ExitCode } }: Container): string {
  return Status === 'exited' ? `its container has ended with code ${ExitCode}` : `its container is ${Status}`;
}
