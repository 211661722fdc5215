import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { resolveWorkspacePath } from '../../core/files/workspace-path.ts';
import { freeBuffer } from '../../core/shared/free-buffer.ts';
import { at, CREATE } from './at-calls.ts';
import { errno, quietly } from './descriptors.ts';
import { failure, isFolder } from './failures.ts';
import type { ChangeRecorder } from './record-change.ts';
import type { Workspace } from './workspace.ts';

const EXECUTABLE = 0o111;
/** Whether the umask removes bits that our files need. */
export const MASKED = (process.umask() & 0o755) !== 0;

/** Names of files that are not complete yet. Listings and archives leave them out. */
export const PARTIAL = /^\.porthole-[\x21-\x7e]{16}$/;

export function partialName(): string {
  return `.porthole-${randomBytes(8).toString('hex')}`;
}

/**
 * Writes a file, complete or not at all: into a temporary file beside it, then renames. An
 * executable file stays executable. Creates missing folders.
 * @param content its pieces are freed
 * @throws PortholeError `path_outside_workspace`, `invalid_request`,
 * `workspace_archive_write_error`, or the error of `content`
 */
export async function writeFile(
  workspace: Workspace,
  path: string,
  content: AsyncIterable<Buffer>,
  recorder?: ChangeRecorder,
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
    const file = (descriptor = await attempt(() => calls.open(partial, CREATE, 0o644)));
    isPartial = true;
    for await (const chunk of content) {
      recorder?.add(chunk);
      await attempt(() => calls.write(file, chunk));
      freeBuffer(chunk);
    }
    const isExecutable = stat !== undefined && (stat.mode & EXECUTABLE) !== 0;
    if (isExecutable || MASKED) await attempt(() => fs.fchmodSync(file, isExecutable ? 0o755 : 0o644));
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
