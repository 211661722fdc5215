import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { resolveWorkspacePath } from '../../base/workspace-path.ts';
import { freeBuffer } from '../../base/free-buffer.ts';
import type { FileMetadata } from '../../protocol/guest/files-protocol.ts';
import { at, CREATE } from './at-calls.ts';
import { direct, errno, quietly } from './descriptors.ts';
import { failure, isFolder } from './failures.ts';
import { noMetadata, setMetadata } from './file-metadata.ts';
import type { ChangeRecorder } from './record-change.ts';
import type { Workspace } from './workspace.ts';

/** The bits of a mode that a file keeps when it is written. */
export const PERMISSIONS = 0o777;
/** Whether the umask removes bits that our files need. */
export const MASKED = (process.umask() & 0o755) !== 0;

/** Names of files that are not complete yet. Listings and archives leave them out. */
export const PARTIAL = /^\.porthole-[\x21-\x7e]{16}$/;

export function partialName(): string {
  return `.porthole-${randomBytes(8).toString('hex')}`;
}

/**
 * Writes a file, complete or not at all: into a temporary file beside it, then renames. A file that
 * is there keeps its mode, and a link leads to the file that is written. Creates missing folders.
 * @param content its pieces are freed
 * @throws PortholeError `path_outside_workspace`, `invalid_request`,
 * `workspace_archive_write_error`, or the error of `content`
 */
export async function writeFile(
  workspace: Workspace,
  path: string,
  content: AsyncIterable<Buffer>,
  { recorder, metadata = {} }: { readonly recorder?: ChangeRecorder; readonly metadata?: FileMetadata } = {},
): Promise<void> {
  const absolute = resolveWorkspacePath(path, 'path');
  const asFailure = (error: unknown) => failure(error, path, 'write');
  using place = await workspace
    .walk(path, { makesFolders: true })
    .catch((error: unknown) => Promise.reject(asFailure(error)));
  const { directory, name, stat, calls } = place;
  const partial = at(directory, partialName());
  let descriptor: number | undefined;
  let isPartial = false;
  const attempt = async <T>(call: () => T | Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      throw errno(error) === 'EISDIR' ? isFolder(absolute) : asFailure(error);
    }
  };
  try {
    if (name === '.' || stat?.isDirectory() === true) throw isFolder(absolute);
    const mode = stat === undefined ? 0o644 : stat.mode & PERMISSIONS;
    // Other users never read what only its user may read.
    const first = stat === undefined ? mode : 0o600;
    const file = (descriptor = await attempt(() => calls.open(partial, CREATE, first)));
    isPartial = true;
    for await (const chunk of content) {
      recorder?.add(chunk);
      await attempt(() => calls.write(file, chunk));
      freeBuffer(chunk);
    }
    // A bucket gives all of its files one mode, and may refuse another.
    const made = await attempt(() => calls.fstat(file));
    if ((made.mode & PERMISSIONS) !== mode) await attempt(() => fs.fchmodSync(file, mode));
    if (Object.keys(metadata).length > 0) {
      if (calls !== direct) throw noMetadata();
      setMetadata(file, metadata);
    }
    descriptor = undefined;
    // A bucket receives the contents on close, and may refuse them then.
    await attempt(() => calls.close(file));
    recorder?.beforeReplace(place);
    await attempt(() => calls.rename(partial, at(directory, name)));
    isPartial = false;
  } finally {
    if (descriptor !== undefined) await calls.close(descriptor);
    if (isPartial) await quietly(() => calls.unlink(partial));
  }
}
