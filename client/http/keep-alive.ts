import { PortholeError } from './porthole-error.ts';

/** Statuses after which there is nothing left to keep alive, or nothing that this caller may. */
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
    while (await pause(everyMs, signal)) {
      try {
        await heartbeat(signal);
      } catch (error) {
        if (error instanceof PortholeError && OVER.has(error.status)) return error;
      }
    }
    return undefined;
  }
}

/** False once it has ended. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve(true);
    }, ms);
    (timer as { unref?: () => void }).unref?.();
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
