import type { Servers } from '../../resources/servers.ts';

/**
 * Milliseconds without another edit before a restart: an editor that saves all files causes one
 * restart.
 */
const SETTLED_MS = 300;

export interface RestartOptions {
  readonly signal: AbortSignal;
  readonly note: (line: string) => Promise<void>;
}

/** Restarts a server that does not follow edits, once edits were sent and others do not follow. */
export class RestartAfterEdits {
  readonly #restart: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;

  constructor(servers: Servers, name: string, { signal, note }: RestartOptions) {
    this.#restart = async () => {
      try {
        await servers.restart(name, { signal });
      } catch (error) {
        // The next edit retries.
        if (!signal.aborted) await note(`The server was not restarted: ${(error as Error).message}`);
      }
    };
  }

  edited(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#restart(), SETTLED_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
