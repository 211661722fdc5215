import { type Engine, EngineError, isStatus } from './engine.ts';

/** What is read of a volume. */
export interface FoundVolume {
  readonly Name: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
}

/** The size of the volume that is made to find out whether one can be set, in MiB. */
const PROBED_MEBIBYTES = 16;

/**
 * An engine's volumes. Whether they can have a size depends on the file system below them, and
 * shows when one is asked for.
 */
export class SandboxVolumes {
  readonly #engine: Engine;
  #hasQuotas: boolean | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Whether they can have a size; undefined before one was made. */
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
   * Makes a volume, limited where that can be; an existing one of the name stays as it is, whosever
   * it is.
   */
  async make(
    name: string,
    labels: Record<string, string>,
    mebibytes: number,
    signal?: AbortSignal,
  ): Promise<void> {
    const create = (options: Record<string, string>): Promise<unknown> =>
      this.#engine.call(
        `create volume ${name}`,
        (docker, abortSignal) =>
          docker.createVolume({
            Name: name,
            Driver: 'local',
            DriverOpts: options,
            Labels: labels,
            abortSignal,
          }),
        signal,
      );
    if (this.#hasQuotas !== false) {
      try {
        await create({ size: `${mebibytes}m` });
        this.#hasQuotas = true;
        return;
      } catch (error) {
        if (!isNoQuota(error)) throw error;
        this.#hasQuotas = false;
      }
    }
    await create({});
  }

  /** Does nothing where there is none. @throws EngineError 409 while a container uses it */
  async remove(name: string, signal?: AbortSignal): Promise<void> {
    await this.#engine.find(
      `remove volume ${name}`,
      (docker, abortSignal) => docker.getVolume(name).remove({ abortSignal }),
      signal,
    );
  }

  /** Finds out, by making a volume and removing it, whether they can have a size. */
  async probe(name: string, labels: Record<string, string>): Promise<boolean> {
    await this.make(name, labels, PROBED_MEBIBYTES);
    await this.remove(name);
    return this.#hasQuotas === true;
  }
}

/** The words of Docker and of Podman, where the file system counts no one's share. */
function isNoQuota(error: unknown): boolean {
  return error instanceof EngineError && !isStatus(error, 404) && /quota|size/i.test(error.message);
}
