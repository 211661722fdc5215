import { PortholeError } from './porthole-error.ts';
import { wait } from './wait.ts';

/** Statuses that end the calls: the target is gone, or not accessible to this caller. */
const OVER = new Set([401, 403, 404, 410]);

/**
 * Calls repeatedly until its target is gone. Retries transient failures. Does not keep the process
 * alive.
 */
export class KeepAlive {
  /** Resolves with the reason for the end, or undefined after `stop`. Never rejects. */
  readonly over: Promise<PortholeError | undefined>;
  readonly #end = new AbortController();

  constructor(heartbeat: (signal: AbortSignal) => Promise<unknown>, everyMs: number) {
    this.over = this.#run(heartbeat, everyMs);
  }

  stop(): void {
    this.#end.abort();
  }

  async #run(
    heartbeat: (signal: AbortSignal) => Promise<unknown>,
    everyMs: number,
  ): Promise<PortholeError | undefined> {
    const { signal } = this.#end;
    const pause = () =>
      wait(everyMs, signal, 'idle').then(
        () => true,
        () => false,
      );
    while (await pause()) {
      try {
        await heartbeat(signal);
      } catch (error) {
        if (error instanceof PortholeError && OVER.has(error.status)) return error;
      }
    }
    return undefined;
  }
}
