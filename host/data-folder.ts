import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder of one host on one machine, locked while the host lives. */
export interface DataFolder {
  readonly path: string;
  /** Leaves word where this host is, for whoever finds the folder taken. */
  announce(url: string): void;
  release(): void;
}

/** The folder is another host's, or none at all: the message says which, and what to do. */
export class DataFolderError extends Error {}

/** Another host lives on the folder. */
export class FolderTakenError extends DataFolderError {}

const LOCK = 'host.lock';
const ADDRESS = 'host.url';

/**
 * Makes the folder (mode 0700) and takes it for this process alone. The lock is SQLite's own on an
 * empty database: the kernel lets it go when the process ends, however it ends.
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
  let lock: InstanceType<typeof DatabaseSync>;
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    // Written first: a folder that is read-only says so here in the system's words, and not in the
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
  };
}

/** `, at http://…`, where the other host has said so. */
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
