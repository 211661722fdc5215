import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Entries, SyncEntry } from '../sync/sync-plan.ts';

/** The last sync of a folder to a target in a sandbox. */
export interface Sent {
  readonly entries: Entries;
  /** When the folder was read, in milliseconds since 1970. */
  readonly readAt: number;
}

/**
 * The target: a path, and a sandbox with everything that distinguishes it from a later one with the
 * same id.
 */
export interface SyncPlace {
  readonly dataplaneUrl: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly folder: string;
  readonly path: string;
}

const VERSION = 1;

export const NOTHING_SENT: Sent = { entries: new Map(), readAt: 0 };

/**
 * Records what was sent, in a file for each folder and target. After a loss or read error
 * everything is sent again.
 */
export class SyncMemory {
  readonly #folder: string;

  constructor(folder = defaultFolder()) {
    this.#folder = folder;
  }

  async recall(place: SyncPlace): Promise<Sent> {
    try {
      const { version, createdAt, readAt, entries } = JSON.parse(
        await readFile(this.#file(place), 'utf8'),
      ) as {
        readonly version: number;
        readonly createdAt: string;
        readonly readAt: number;
        readonly entries: readonly (readonly [string, SyncEntry])[];
      };
      return version === VERSION && createdAt === place.createdAt
        ? { entries: new Map(entries), readAt }
        : NOTHING_SENT;
    } catch {
      return NOTHING_SENT;
    }
  }

  async remember(place: SyncPlace, { entries, readAt }: Sent): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const file = this.#file(place);
    const temporary = `${file}.${randomUUID()}`;
    const { createdAt } = place;
    try {
      await writeFile(
        temporary,
        JSON.stringify({ version: VERSION, createdAt, readAt, entries: [...entries] }),
        {
          mode: 0o600,
        },
      );
      await rename(temporary, file);
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /** One name for all sandboxes with the id, so that files do not accumulate. */
  #file({ dataplaneUrl, folder, path }: SyncPlace): string {
    const name = createHash('sha256')
      .update(JSON.stringify([dataplaneUrl, folder, path]))
      .digest('hex');
    return join(this.#folder, `${name.slice(0, 32)}.json`);
  }
}

/** The XDG cache folder (XDG Base Directory Specification). */
function defaultFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'];
  return join(cache === undefined || cache === '' ? join(homedir(), '.cache') : cache, 'porthole', 'sync');
}
