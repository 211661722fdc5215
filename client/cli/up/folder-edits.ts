import { spawn } from 'node:child_process';
import type { Sandbox } from '../../resources/sandbox.ts';
import { syncFolder } from '../../node/sync-folder.ts';
import type { SyncOptions } from '../../sync/sync-options.ts';
import type { Context } from '../command.ts';
import { RestartAfterEdits } from './restart-after-edits.ts';
import { FolderWatch } from './watch-folder.ts';

export interface EditsOptions extends Pick<SyncOptions, 'to' | 'excludes' | 'delete'> {
  readonly signal: AbortSignal;
  /** Receives a line about each edit that was sent or failed. */
  readonly note: (line: string) => Promise<void>;
  /** Name of a server without hot reload: it restarts after edits. */
  readonly restarts?: string | undefined;
}

/** Sends each edit of a folder to a sandbox. */
export class FolderEdits {
  readonly #watch: FolderWatch;
  readonly #restart: RestartAfterEdits | undefined;

  constructor(sandbox: Sandbox, folder: string, { note, restarts, ...options }: EditsOptions) {
    const { signal } = options;
    this.#restart =
      restarts === undefined ? undefined : new RestartAfterEdits(sandbox.servers, restarts, { signal, note });
    this.#watch = new FolderWatch(folder, async () => {
      try {
        const { sent, removed, folders } = await syncFolder(sandbox, folder, options);
        this.#watch.follow(folders);
        if (sent + removed === 0) return;
        this.#restart?.edited();
        await note(`An edit: ${sent} sent, ${removed} removed`);
      } catch (error) {
        // The next edit retries.
        if (!signal.aborted) await note(`An edit was not sent: ${(error as Error).message}`);
      }
    });
  }

  /** @param folders of the last sync: others are not watched */
  follow(folders: readonly string[]): void {
    this.#watch.follow(folders);
  }

  /** Restarts the server after edits that were sent without this object. */
  edited(): void {
    this.#restart?.edited();
  }

  close(): void {
    this.#restart?.close();
    this.#watch.close();
  }
}

interface BackgroundOptions {
  readonly excludes: readonly string[];
  readonly isBoth: boolean;
  readonly restarts: string | undefined;
}

/**
 * Leaves `porthole sync --watch` running. It ends once the sandbox stops or Porthole is
 * unreachable.
 */
export function followInBackground(
  { streams }: Context,
  folder: string,
  sandboxId: string,
  { excludes, isBoth, restarts }: BackgroundOptions,
): void {
  const [, main = ''] = process.argv;
  const options = [
    ...(isBoth ? ['--both'] : []),
    ...(restarts === undefined ? [] : ['--restart', restarts]),
    ...excludes.flatMap((each) => ['--exclude', each]),
  ];
  const words = ['sync', folder, sandboxId, '--watch', ...options];
  const child = spawn(process.execPath, [...process.execArgv, main, ...words], {
    stdio: 'ignore',
    detached: true,
    env: { ...streams.environment },
  });
  child.unref();
}
