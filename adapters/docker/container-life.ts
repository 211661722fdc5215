import { setTimeout as pause } from 'node:timers/promises';
import type { StoredSpec } from '#adapters/sandboxes/stored-spec.ts';
import { sandboxNotFound, sandboxNotRunning, transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { type Engine, EngineError, isStatus } from './engine.ts';
import { notOurs } from './provider-errors.ts';
import { imageOf, type SandboxNames, specOf } from './sandbox-names.ts';
import type { SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import { giverName, giveWorkspace, ownedState } from './give-workspace.ts';
import {
  removeContainer,
  containerState,
  type FoundContainer,
  type RunningContainer,
} from './container-state.ts';
import type { GuestVolume } from './guest-volume.ts';
import { supplyImage } from './image-supply.ts';
import { sandboxContainer, STATE_VOLUME, stateVolume } from './sandbox-container.ts';
import type { SandboxLimits } from './container-limits.ts';
import type { FoundVolume, SandboxVolumes } from './sandbox-volume.ts';

export interface ContainerLifeOptions {
  readonly engine: Engine;
  readonly names: SandboxNames;
  readonly volumes: SandboxVolumes;
  /** Image of sandboxes that ask for none. */
  readonly image: string;
  /** What a sandbox may use that asked for this. */
  readonly limits: (resources: StoredSpec['resources']) => Promise<SandboxLimits>;
  readonly network: string;
  /** Of every command, beside the image's own. */
  readonly environment: Readonly<Record<string, string>>;
  /** Makes the folder that holds a sandbox's socket; undefined: no channel. */
  readonly channelFolder: (name: string) => string | undefined;
  /**
   * The engine does not see those folders: it runs on another machine, or this process in a
   * container.
   */
  readonly channelsUnseen: () => void;
  readonly guest: GuestVolume;
}

/**
 * Others may be at work on the same sandbox: what they have changed is looked at again, this often
 * and with this pause in milliseconds.
 */
const LOOKS = 20;
const PAUSE_MS = 250;

/**
 * Of the guest's state: rings of 128 MiB in all, the output of servers, and room to rewrite them.
 */
const STATE_MEBIBYTES = 512;

/**
 * Makes and removes the container and the volume of a sandbox. Every step may be repeated, by
 * anybody, after a crash anywhere.
 */
export class ContainerLife {
  readonly #options: ContainerLifeOptions;
  #hasIpv6 = true;

  constructor(options: ContainerLifeOptions) {
    this.#options = options;
  }

  /** The sandbox's container; undefined where there is none, or where another bears its name. */
  async container(id: string, signal?: AbortSignal): Promise<FoundContainer | undefined> {
    const found = await this.#find(this.#options.names.objectName(id), signal);
    return found !== undefined && this.#isOf(id, found) ? found : undefined;
  }

  /** The sandbox's volume; undefined where there is none. */
  async findVolume(id: string, signal?: AbortSignal): Promise<FoundVolume | undefined> {
    const { names, volumes } = this.#options;
    const found = await volumes.find(names.objectName(id), signal);
    return found !== undefined && names.idOf(found.Name, found.Labels) === id ? found : undefined;
  }

  /** @throws PortholeError `sandbox_not_found` */
  async volume(id: string, signal?: AbortSignal): Promise<FoundVolume> {
    const found = await this.findVolume(id, signal);
    if (found === undefined) throw sandboxNotFound(id);
    return found;
  }

  /**
   * Makes the sandbox's volume where there is none. The image comes first: one that cannot be had
   * leaves nothing behind.
   */
  async keepVolume({ id, image: asked, ...spec }: SandboxSpec, signal?: AbortSignal): Promise<FoundVolume> {
    const { engine, names, volumes, image, limits } = this.#options;
    const present = await this.findVolume(id, signal);
    if (present !== undefined) return present;
    const wanted = asked ?? image;
    await supplyImage(engine, id, wanted, signal);
    const name = names.objectName(id);
    const { diskMebibytes } = await limits(spec.resources);
    await volumes.make(name, names.labels(id, wanted, spec), diskMebibytes, signal);
    // Asking an engine for a volume that is there already gives that one.
    const made = await this.findVolume(id, signal);
    if (made === undefined) throw notOurs(id, 'volume', name);
    return made;
  }

  /**
   * Brings a container up on the sandbox's volume. @throws PortholeError `sandbox_not_running` with
   * what keeps it
   */
  async run(id: string, volume: FoundVolume, signal?: AbortSignal): Promise<RunningContainer> {
    for (let looks = 0; looks < LOOKS; looks += 1) {
      const found = await this.#find(volume.Name, signal);
      if (found === undefined) {
        await this.#make(id, volume, signal);
        continue;
      }
      if (!this.#isOf(id, found)) throw notOurs(id, 'container', volume.Name);
      const now = containerState(found);
      if (now.state === 'running') return now.container;
      if (now.state === 'creating') await this.#start(id, found.Id, signal);
      else if (now.state === 'paused') await this.#unpause(found.Id, signal);
      else await removeContainer(this.#options.engine, found.Id, signal);
    }
    throw transportError(id, 'its container does not stay as it is made');
  }

  /** Ends the container and everything in it; resolves once it has gone. */
  async end(id: string, signal?: AbortSignal): Promise<void> {
    const found = await this.container(id, signal);
    if (found !== undefined) await removeContainer(this.#options.engine, found.Id, signal);
  }

  /** Removes container and volumes; resolves once all have gone. */
  async remove(id: string, signal?: AbortSignal): Promise<void> {
    const { names, volumes } = this.#options;
    for (let looks = 1; ; looks += 1) {
      await this.end(id, signal);
      const isThere = (await this.findVolume(id, signal)) !== undefined;
      try {
        await volumes.remove(stateVolume(names.objectName(id)), signal);
        if (isThere) await volumes.remove(names.objectName(id), signal);
        return;
      } catch (error) {
        // Somebody has just started a container on it, or was cut off while giving it away.
        if (!isStatus(error, 409) || looks >= LOOKS) throw error;
        await removeContainer(this.#options.engine, giverName(names.objectName(id)), signal);
        await pause(PAUSE_MS, undefined, { signal }).catch(() => signal?.throwIfAborted());
      }
    }
  }

  /**
   * Makes the volume's own folder the user's, who cannot write to it otherwise: an engine makes it
   * root's, unless the image has another.
   */
  async giveWorkspace(id: string, { Name, Labels }: FoundVolume, signal?: AbortSignal): Promise<void> {
    const image = imageOf(Labels ?? {}) ?? this.#options.image;
    await giveWorkspace(
      this.#options.engine,
      { volume: Name, image, labels: this.#options.names.labels(id, image) },
      signal,
    );
  }

  #isOf(id: string, { Name, Config }: FoundContainer): boolean {
    return this.#options.names.idOf(Name.replace(/^\//, ''), Config.Labels) === id;
  }

  #find(name: string, signal?: AbortSignal): Promise<FoundContainer | undefined> {
    return this.#options.engine.find<FoundContainer>(
      `inspect container ${name}`,
      (docker, abortSignal) => docker.getContainer(name).inspect({ abortSignal }),
      signal,
    );
  }

  async #make(id: string, { Name: name, Labels }: FoundVolume, signal?: AbortSignal): Promise<void> {
    const { engine, names, image: ownImage, network, environment, channelFolder, guest } = this.#options;
    const image = imageOf(Labels ?? {}) ?? ownImage;
    // It may have gone since the sandbox was made.
    const { env: imageEnv } = await supplyImage(engine, id, image, signal);
    const guestVolume = await guest.name(image);
    const spec = specOf(Labels);
    const limits = await this.#options.limits(spec.resources);
    const labels = names.labels(id, image);
    const plan = {
      id,
      name,
      image,
      labels,
      limits,
      network,
      environment,
      channelFolder: channelFolder(name),
      hasIpv6: this.#hasIpv6,
      guestVolume,
      imageEnv,
    };
    await this.#options.volumes.make(stateVolume(name), labels, STATE_MEBIBYTES, signal);
    try {
      await engine.call(
        `create container ${name}`,
        (docker, abortSignal) => docker.createContainer({ ...sandboxContainer(plan), abortSignal }),
        signal,
      );
    } catch (error) {
      // Somebody else has just made it.
      if (isStatus(error, 409)) return;
      if (plan.channelFolder === undefined || !says(error, /bind source path does not exist/)) {
        throw refused(id, error);
      }
      this.#options.channelsUnseen();
    }
  }

  async #start(id: string, containerId: string, signal?: AbortSignal): Promise<void> {
    const { engine } = this.#options;
    try {
      await engine.call(
        'start its container',
        async (docker, abortSignal) => {
          const container = docker.getContainer(containerId);
          await container.putArchive(await ownedState(), { path: STATE_VOLUME, abortSignal });
          await container.start({ abortSignal });
        },
        signal,
      );
    } catch (error) {
      // 304: it runs already. 404, 409: somebody has ended it, or does.
      if (isStatus(error, 304) || isStatus(error, 404) || isStatus(error, 409)) return;
      signal?.throwIfAborted();
      await removeContainer(engine, containerId, signal).catch(() => {});
      if (this.#hasIpv6 && says(error, /disable_ipv6/)) {
        this.#hasIpv6 = false;
        return;
      }
      throw refused(id, error);
    }
  }

  async #unpause(containerId: string, signal?: AbortSignal): Promise<void> {
    try {
      await this.#options.engine.call(
        'unpause its container',
        (docker, abortSignal) => docker.getContainer(containerId).unpause({ abortSignal }),
        signal,
      );
    } catch (error) {
      if (!isStatus(error, 404) && !isStatus(error, 409) && !isStatus(error, 500)) throw error;
    }
  }
}

function says(error: unknown, words: RegExp): boolean {
  return error instanceof EngineError && words.test(error.message);
}

/**
 * What an engine says of a container that it cannot make or start is the sandbox's own trouble;
 * anything else is a trouble of the engine's.
 */
function refused(id: string, error: unknown): unknown {
  if (!(error instanceof EngineError) || error.status === undefined) return error;
  return sandboxNotRunning(id, error.message, error);
}
