import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { StoredSpec } from '#adapters/sandboxes/stored-spec.ts';
import { sandboxNotFound, sandboxNotRunning, transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import { type Engine, EngineError, isStatus } from './engine.ts';
import { imageOf, type SandboxNames, specOf } from './sandbox-names.ts';
import { PortholeError } from '#base/errors.ts';
import { retry } from '#base/retry.ts';
import type { SandboxSpec } from '#core/sandboxes/sandbox-provider.ts';
import {
  removeContainer,
  containerState,
  type FoundContainer,
  type RunningContainer,
} from './container-state.ts';
import { makeGuestVolume } from './guest-volume.ts';
import { supplyImage } from './image-supply.ts';
import {
  sandboxContainer,
  type SandboxContainerOptions,
  STATE_FOLDER,
  STATE_VOLUME,
  stateVolume,
  unstartedContainer,
  USER,
  WORKSPACE,
} from './sandbox-container.ts';
import type { SandboxLimits } from './container-limits.ts';
import type { FoundVolume, SandboxVolumes } from './sandbox-volume.ts';

export interface ContainerLifeOptions {
  readonly engine: Engine;
  readonly names: SandboxNames;
  readonly volumes: SandboxVolumes;
  /** Image of sandboxes that name no image. */
  readonly image: string;
  readonly limits: (resources: StoredSpec['resources']) => Promise<SandboxLimits>;
  readonly network: string;
  /** Environment of every command, in addition to the image's. */
  readonly environment: Readonly<Record<string, string>>;
  /** Creates the folder of a sandbox's socket; undefined: no channel. */
  readonly channelFolder: (name: string) => string | undefined;
  /**
   * Called if the engine does not see those folders: it runs on another machine, or this process in
   * a container.
   */
  readonly channelsUnseen: () => void;
  /** The folder of this machine with the guest. */
  readonly guest: () => Promise<string>;
}

/** What differs between the containers of sandboxes. */
export type NewContainer = Pick<
  SandboxContainerOptions,
  'id' | 'name' | 'image' | 'labels' | 'imageEnv' | 'limits' | 'guestSource'
>;

/** Other processes may work on the same sandbox: tries again so often, or so long in ms. */
const LOOKS = 20;
const REMOVE_MS = 5_000;
const PAUSE_MS = 250;

/**
 * Volume of the guest's state, in MiB: rings of 128 MiB in total, the output of servers, and room
 * to rewrite them.
 */
const STATE_MEBIBYTES = 512;

/**
 * Creates and removes the container and the volume of a sandbox. Every step is idempotent: any
 * process may repeat it after a crash at any point.
 */
export class ContainerLife {
  readonly #options: ContainerLifeOptions;
  #hasIpv6 = true;
  /** Name of the volume of the guest, once it is complete. */
  #guestVolume: Promise<string> | undefined;

  constructor(options: ContainerLifeOptions) {
    this.#options = options;
  }

  /** The sandbox's container; undefined if it does not exist or another object has its name. */
  async container(id: string, signal?: AbortSignal): Promise<FoundContainer | undefined> {
    const found = await this.#find(this.#options.names.objectName(id), signal);
    return found !== undefined && this.#isOf(id, found) ? found : undefined;
  }

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
   * Creates the sandbox's volume if it does not exist. Pulls the image first: an image that is not
   * available leaves nothing behind.
   */
  async keepVolume({ id, image: asked, ...spec }: SandboxSpec, signal?: AbortSignal): Promise<FoundVolume> {
    const { engine, names, volumes, image, limits } = this.#options;
    const present = await this.findVolume(id, signal);
    if (present !== undefined) return present;
    const wanted = asked ?? image;
    await supplyImage(engine, id, wanted, signal);
    const name = names.objectName(id);
    const { diskMb } = await limits(spec.resources);
    await volumes.make(name, names.labels(id, wanted, spec), diskMb, signal);
    // Creating a volume that exists returns the existing one.
    const made = await this.findVolume(id, signal);
    if (made === undefined) throw notOurs(id, 'volume', name);
    return made;
  }

  /**
   * Starts a container on the sandbox's volume. @throws PortholeError `sandbox_not_running` with
   * the reason
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
    throw transportError(id, 'its container keeps being changed');
  }

  /** Ends the container and its processes; resolves once it is gone. */
  async end(id: string, signal?: AbortSignal): Promise<void> {
    const found = await this.container(id, signal);
    if (found !== undefined) await removeContainer(this.#options.engine, found.Id, signal);
  }

  /** Removes container and volumes; resolves once all are gone. */
  async remove(id: string, signal?: AbortSignal): Promise<void> {
    const { engine, names, volumes } = this.#options;
    const name = names.objectName(id);
    const removeAll = async () => {
      await this.end(id, signal);
      // A killed process may have left the container that changes the owner.
      await removeContainer(engine, giverName(name), signal);
      const isThere = (await this.findVolume(id, signal)) !== undefined;
      await volumes.remove(stateVolume(name), signal);
      if (isThere) await volumes.remove(name, signal);
    };
    // 409: another process has just started a container on it.
    const delay = (error: unknown) => (isStatus(error, 409) ? PAUSE_MS : undefined);
    await retry(removeAll, { delay, withinMs: REMOVE_MS, signal });
  }

  /**
   * Makes the sandbox's user own the volume's root folder, without running anything of the image.
   * An engine makes it root's unless the image has that folder. It cannot unpack over the root of a
   * volume, nor beside volumes into a container with a read-only root, so this is not the sandbox's
   * own container.
   */
  async giveWorkspace(id: string, { Name, Labels }: FoundVolume, signal?: AbortSignal): Promise<void> {
    const { engine, names, image: ownImage } = this.#options;
    const image = imageOf(Labels ?? {}) ?? ownImage;
    const giver = unstartedContainer(giverName(Name), image, names.labels(id, image), {
      volume: Name,
      target: WORKSPACE,
    });
    await removeContainer(engine, giverName(Name), signal);
    try {
      await engine.call(
        'give /workspace to its user',
        async (docker, abortSignal) => {
          const container = await docker.createContainer({ ...giver, abortSignal });
          const archive = await ownedFolder(WORKSPACE.slice(1), 0o755);
          await container.putArchive(archive, { path: '/', abortSignal });
        },
        signal,
      );
    } finally {
      await removeContainer(engine, giverName(Name));
    }
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
    const { engine, names, volumes, image: ownImage, limits } = this.#options;
    const image = imageOf(Labels ?? {}) ?? ownImage;
    // The image may have been removed since the sandbox was created.
    const { env: imageEnv } = await supplyImage(engine, id, image, signal);
    const labels = names.labels(id, image);
    await volumes.make(stateVolume(name), labels, STATE_MEBIBYTES, signal);
    const guestSource = await this.guestSource(image);
    const { resources } = specOf(Labels);
    const container = { id, name, image, labels, imageEnv, guestSource, limits: await limits(resources) };
    try {
      await this.makeContainer(container, signal);
    } catch (error) {
      // Another process has just created it.
      if (!isStatus(error, 409)) throw refused(id, error);
    }
  }

  /** Name of a volume with the guest. @param image any image of the engine */
  protected async guestSource(image: string): Promise<string> {
    const { engine, volumes, guest } = this.#options;
    this.#guestVolume ??= guest().then((folder) => makeGuestVolume(engine, volumes, folder, image));
    return this.#guestVolume.catch((error: unknown) => {
      this.#guestVolume = undefined;
      throw error;
    });
  }

  /** Creates a container on the sandbox's volumes. @throws EngineError 409 if it exists */
  protected async makeContainer(container: NewContainer, signal?: AbortSignal): Promise<void> {
    const { engine, network, environment, channelFolder, channelsUnseen } = this.#options;
    const { name } = container;
    const folder = channelFolder(name);
    const options = sandboxContainer({
      ...container,
      network,
      environment,
      channelFolder: folder,
      hasIpv6: this.#hasIpv6,
    });
    try {
      await engine.call(
        `create container ${name}`,
        (docker, abortSignal) => docker.createContainer({ ...options, abortSignal }),
        signal,
      );
    } catch (error) {
      if (folder === undefined || !messageMatches(error, /bind source path does not exist/)) throw error;
      channelsUnseen();
    }
  }

  /** Makes the sandbox's user own the folder of the guest's state. Existing content stays. */
  protected async giveState(containerId: string, signal: AbortSignal): Promise<void> {
    const container = this.#options.engine.docker.getContainer(containerId);
    const archive = await ownedFolder(STATE_FOLDER, 0o700);
    await container.putArchive(archive, { path: STATE_VOLUME, abortSignal: signal });
  }

  async #start(id: string, containerId: string, signal?: AbortSignal): Promise<void> {
    const { engine } = this.#options;
    try {
      await engine.call(
        'start its container',
        async (docker, abortSignal) => {
          await this.giveState(containerId, abortSignal);
          await docker.getContainer(containerId).start({ abortSignal });
        },
        signal,
      );
    } catch (error) {
      // 304: already running. 404, 409: ended by another process.
      if (isStatus(error, 304) || isStatus(error, 404) || isStatus(error, 409)) return;
      signal?.throwIfAborted();
      await removeContainer(engine, containerId, signal).catch(() => {});
      if (this.#hasIpv6 && messageMatches(error, /disable_ipv6/)) {
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

function giverName(volume: string): string {
  return `${volume}-giver`;
}

function ownedFolder(name: string, mode: number): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: `${name}/`, type: 'directory', uid: USER, gid: USER, mode });
  archive.finalize();
  return buffer(archive);
}

/** Another object has the name of a sandbox's container or volume. */
function notOurs(id: string, what: 'container' | 'volume', name: string): PortholeError {
  return new PortholeError('internal_error', `Sandbox ${id}: ${what} ${name} is not Porthole's.`, {
    remedy: 'Remove it, or use another container engine.',
  });
}

function messageMatches(error: unknown, words: RegExp): boolean {
  return error instanceof EngineError && words.test(error.message);
}

/**
 * A refusal to create or start a container is the sandbox's error; anything else is the engine's.
 */
function refused(id: string, error: unknown): unknown {
  if (!(error instanceof EngineError) || error.status === undefined) return error;
  return sandboxNotRunning(id, error.message, error);
}
