import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The data folder of one host on one machine, locked while the host lives. */
export interface DataFolder {
  readonly path: string;
  /** Records this host's URL, for the message of a host that finds the folder locked. */
  announce(url: string): void;
  release(): void;
  /**
   * Releases the folder and removes what opening it created: the folder if it is new, else the
   * lock.
   */
  discard(): void;
}

/** The folder is locked by another host, or unusable: the message says which, and what to do. */
export class DataFolderError extends Error {}

/** Another host holds the folder's lock. */
export class FolderTakenError extends DataFolderError {}

const LOCK = 'host.lock';
const ADDRESS = 'host.url';

/**
 * Creates the folder (mode 0700) and locks it for this process. The lock is SQLite's, on an empty
 * database: the kernel releases it when the process ends, however it ends.
 * @throws DataFolderError
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const path = resolve(folder);
  const { DatabaseSync } = await import('node:sqlite');
  const unusable = (cause: unknown) =>
    new DataFolderError(
      `The data folder ${path} cannot be used (${reason(cause)}). Set PORTHOLE_DATA_DIR to a folder that you can write to.`,
      { cause },
    );
  let isNew: boolean;
  let isLockNew: boolean;
  let lock: InstanceType<typeof DatabaseSync>;
  try {
    isNew = mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined;
    isLockNew = !existsSync(join(path, LOCK));
    // Written first: a read-only folder then fails with the system's message instead of the
    // database's.
    writeFileSync(join(path, LOCK), '', { flag: 'a', mode: 0o600 });
    lock = new DatabaseSync(join(path, LOCK));
  } catch (cause) {
    throw unusable(cause);
  }
  try {
    lock.exec('PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    if (!/database is locked/.test(reason(cause))) throw unusable(cause);
    throw new FolderTakenError(
      `Another Porthole already uses ${path}${whereabouts(path)}. Use that one, stop it, or start this one with another PORTHOLE_DATA_DIR.`,
      { cause },
    );
  }
  return {
    path,
    announce: (url) => writeFileSync(join(path, ADDRESS), `${url}\n`, { mode: 0o600 }),
    release: () => lock.close(),
    discard: () => {
      // The lock is still held: no other host has written into it.
      const files = isLockNew ? [LOCK, `${LOCK}-journal`].map((name) => join(path, name)) : [];
      for (const each of isNew ? [path] : files) rmSync(each, { recursive: true, force: true });
      lock.close();
    },
  };
}

/** `, at http://…`, if the other host has recorded it. */
function whereabouts(path: string): string {
  try {
    const { origin, port } = new URL(readFileSync(join(path, ADDRESS), 'utf8').trim());
    return ` and is at ${origin} (for the demo: PORT=${port} npm run demo)`;
  } catch {
    return '';
  }
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
