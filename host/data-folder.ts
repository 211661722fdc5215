import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder of one host on one machine, locked while the host lives. */
export interface DataFolder {
  readonly path: string;
  release(): void;
}

/** Another host works on the folder. */
export class DataFolderInUse extends Error {}

/**
 * Makes the folder (mode 0700) and takes it for this process alone. The lock is SQLite's own on an empty database: the kernel lets it go when the process ends,
 * however it ends.
 * @throws DataFolderInUse
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const path = resolve(folder);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { DatabaseSync } = await import('node:sqlite');
  const lock = new DatabaseSync(join(path, 'host.lock'));
  try {
    lock.exec('PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    throw new DataFolderInUse(
      `Another Porthole already uses ${path}. Stop it, or start this one with another PORTHOLE_DATA_DIR.`,
      { cause },
    );
  }
  return { path, release: () => lock.close() };
}
