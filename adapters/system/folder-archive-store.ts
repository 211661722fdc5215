import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PortholeError } from '#base/errors.ts';
import type { ArchiveStore } from '#core/archives/archive-store.ts';
import { diskFull, isDiskFull } from './disk-reserve.ts';

/** Objects as files of a folder, each written to its disk before it has its name. */
export function folderArchiveStore(folder: string): ArchiveStore {
  const fileOf = (key: string): string => {
    // Keys are of this program: a mistake must not lead out of the folder.
    if (key.split('/').some((part) => !/^[\w-][\w.-]*$/.test(part))) {
      throw new RangeError(`no key of an archive: ${key}`);
    }
    return join(folder, key);
  };
  return {
    async put(key, content, signal) {
      const file = fileOf(key);
      const partial = partialOf(file);
      try {
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        const options = { mode: 0o600, flush: true, highWaterMark: 1_048_576 };
        await pipeline(content, createWriteStream(partial, options), { signal });
        await rename(partial, file);
        await syncFolder(dirname(file));
      } catch (error) {
        content.destroy();
        await rm(partial, { force: true });
        signal?.throwIfAborted();
        throw isDiskFull(error) ? diskFull('The files were not stored', error) : failure(error);
      }
    },

    async get(key, range) {
      const handle = await open(fileOf(key), 'r').catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw failure(error);
        throw new PortholeError('archive_not_found', 'The archive is no longer in the data folder', {
          remedy: 'delete its record.',
        });
      });
      const bytes = range && { start: range.from, end: range.from + range.length - 1 };
      return createReadStream('', { fd: handle, highWaterMark: 262_144, ...bytes });
    },

    async remove(key) {
      const file = fileOf(key);
      await rm(file, { force: true });
      // Of a process that was killed while it stored it.
      await rm(partialOf(file), { force: true });
    },
  };
}

const partialOf = (file: string): string => `${file}.partial`;

/** A new name is on the disk once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The cause is only for the log. */
function failure(cause: unknown): unknown {
  if (cause instanceof PortholeError) return cause;
  if (typeof cause !== 'object' || cause === null || !('syscall' in cause)) return cause;
  return new PortholeError('archive_error', 'The files could not be stored in the data folder', {
    remedy: 'try again, or look at the disk of the machine.',
    cause,
  });
}
