import { sandboxNotFound, sandboxNotRunning, isSandboxId } from '#adapters/sandboxes/sandbox-errors.ts';
import type { ContainerLife } from './container-life.ts';
import { containerState, type RunningContainer } from './container-state.ts';
import { isStatus } from './engine.ts';

/**
 * Finds the container for a command. A container that was seen running is not inspected before each
 * command: the engine reports when it no longer runs.
 */
export class RunningContainers {
  readonly #life: Pick<ContainerLife, 'container' | 'volume'>;
  readonly #seen = new Map<string, RunningContainer>();
  readonly #ending = new Set<string>();

  constructor(life: Pick<ContainerLife, 'container' | 'volume'>) {
    this.#life = life;
  }

  saw(id: string, container: RunningContainer): void {
    this.#seen.set(id, container);
  }

  /** Commands of a sandbox fail as lost while `end` runs, however they end. */
  async ending(id: string, end: () => Promise<void>): Promise<void> {
    this.#ending.add(id);
    this.#seen.delete(id);
    try {
      await end();
    } finally {
      this.#ending.delete(id);
    }
  }

  /**
   * Calls `use` with the running container of a sandbox. `use` must start nothing if it fails with
   * the engine's 404 or 409.
   * @throws PortholeError `sandbox_not_found`, `sandbox_not_running`
   */
  async use<T>(
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
    const container = await this.look(id, signal);
    try {
      const result = await use(container);
      if (!this.#ending.has(id)) this.#seen.set(id, container);
      return result;
    } catch (error) {
      if (isGone(error)) throw sandboxNotRunning(id, 'it has just stopped', error);
      throw error;
    }
  }

  /** @throws PortholeError `sandbox_not_found`, `sandbox_not_running` */
  async look(id: string, signal: AbortSignal | undefined): Promise<RunningContainer> {
    if (!isSandboxId(id)) throw sandboxNotFound(id);
    const found = await this.#life.container(id, signal);
    if (found === undefined) {
      await this.#life.volume(id, signal);
      throw sandboxNotRunning(id, 'it is stopped; resume it first');
    }
    const now = containerState(found);
    if (now.state !== 'running') throw sandboxNotRunning(id, now.reason);
    return now.container;
  }
}

function isGone(error: unknown): boolean {
  return isStatus(error, 404) || isStatus(error, 409);
}
