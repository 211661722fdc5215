import { randomBytes } from 'node:crypto';
import { type Engine, EngineError, isStatus } from './engine.ts';

export interface FoundVolume {
  readonly Name: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
}

/** Size of the volume that probes for quota support, in MiB. */
const PROBED_MEBIBYTES = 16;

/**
 * An engine's volumes. Quota support depends on the file system below, and shows only when a size
 * is requested.
 */
export class SandboxVolumes {
  readonly #engine: Engine;
  #hasQuotas: boolean | undefined;

  /** @param hasQuotas undefined: tried with the first volume */
  constructor(engine: Engine, hasQuotas?: boolean) {
    this.#engine = engine;
    this.#hasQuotas = hasQuotas;
  }

  /** Whether volumes can have a size; undefined before the first one was created. */
  get hasQuotas(): boolean | undefined {
    return this.#hasQuotas;
  }

  find(name: string, signal?: AbortSignal): Promise<FoundVolume | undefined> {
    return this.#engine.find(
      `inspect volume ${name}`,
      (docker, abortSignal) => docker.getVolume(name).inspect({ abortSignal }),
      signal,
    );
  }

  /**
   * Creates a volume, with a size limit if supported. An existing volume of that name stays
   * unchanged, whichever installation owns it.
   */
  async make(
    name: string,
    labels: Record<string, string>,
    mebibytes: number,
    signal?: AbortSignal,
  ): Promise<void> {
    if (this.#hasQuotas !== false) {
      try {
        await this.create(name, labels, { size: `${mebibytes}m` }, signal);
        this.#hasQuotas = true;
        return;
      } catch (error) {
        if (!isNoQuota(error)) throw error;
        this.#hasQuotas = false;
      }
    }
    await this.create(name, labels, {}, signal);
  }

  /** Creates a volume without a size, unless an option of its driver sets one. */
  create(
    name: string,
    labels: Record<string, string>,
    options: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<unknown> {
    const wanted = { Name: name, Driver: 'local', DriverOpts: options, Labels: labels };
    return this.#engine.call(
      `create volume ${name}`,
      (docker, abortSignal) => docker.createVolume({ ...wanted, abortSignal }),
      signal,
    );
  }

  /** Does nothing if it does not exist. @throws EngineError 409 while a container uses it */
  async remove(name: string, signal?: AbortSignal): Promise<void> {
    await this.#engine.find(
      `remove volume ${name}`,
      (docker, abortSignal) => docker.getVolume(name).remove({ abortSignal }),
      signal,
    );
  }

  /** Creates and removes a volume to find out whether volumes can have a size. */
  async probe(): Promise<boolean> {
    const name = `porthole-probe-${randomBytes(8).toString('hex')}`;
    await this.make(name, {}, PROBED_MEBIBYTES);
    await this.remove(name);
    return this.#hasQuotas === true;
  }
}

/** The messages of Docker and of Podman for a file system without quotas. */
function isNoQuota(error: unknown): boolean {
  return error instanceof EngineError && !isStatus(error, 404) && /quota|size/i.test(error.message);
}
