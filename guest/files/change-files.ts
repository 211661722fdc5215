import type { Dirent } from 'node:fs';
import { PortholeError } from '../../base/errors.ts';
import { resolveWorkspacePath } from '../../base/workspace-path.ts';
import { isTreePath } from '../../protocol/guest/tree-protocol.ts';
import { at } from './at-calls.ts';
import { type Calls, DirectoryWalker, entriesIn, errno, FOLDER, Yielder, ignoring } from './descriptors.ts';
import { failure, invalid, notFound } from './failures.ts';
import { type Place, WalkError, type Workspace } from './workspace.ts';

/**
 * Creates a folder and its parents. An existing folder does not change.
 * @throws PortholeError `path_outside_workspace`, `invalid_request`,
 * `workspace_archive_write_error`
 */
export async function makeFolder(workspace: Workspace, path: string): Promise<void> {
  const absolute = resolveWorkspacePath(path, 'path');
  try {
    using place = await workspace.walk(path, { makesFolders: true });
    const { directory, name, stat, calls } = place;
    if (stat?.isDirectory() === true) return;
    if (stat !== undefined) throw invalid(`${absolute} is a file: name a folder beside it.`);
    await calls.mkdir(at(directory, name), 0o755);
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw failure(error, path, 'write');
  }
}

/**
 * Renames a file, a folder or a link. Creates missing parent folders.
 * @param overwrite whether an existing file is replaced; a folder never is
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `file_exists`,
 * `invalid_request`, `workspace_archive_write_error`
 */
export async function moveFile(
  workspace: Workspace,
  from: string,
  to: string,
  overwrite: boolean,
): Promise<void> {
  const [source, target] = [resolveWorkspacePath(from, 'path'), resolveWorkspacePath(to, 'path')];
  try {
    using origin = await workspace.walk(from, { last: 'keep' }).catch((error: unknown) => {
      throw failure(error, from, 'entry');
    });
    if (origin.stat === undefined) throw notFound(source, 'entry');
    if (origin.name === '.') throw wholeWorkspace('moved');
    using place = await workspace.walk(to, { last: 'keep', makesFolders: true }).catch((error: unknown) => {
      throw failure(error, to, 'write');
    });
    if (place.name === '.') throw exists(target);
    if (place.names.join('/') === origin.names.join('/')) return;
    const isFolder = place.stat?.isDirectory() === true;
    if (place.stat !== undefined && (!overwrite || isFolder)) throw exists(target);
    const paths = [at(origin.directory, origin.name), at(place.directory, place.name)] as const;
    if (overwrite || origin.stat.isDirectory()) await origin.calls.rename(...paths);
    else await renameToNew(origin.calls, ...paths);
  } catch (error) {
    const why = errno(error);
    if (why === 'EEXIST' || why === 'ENOTEMPTY' || why === 'EISDIR' || why === 'ENOTDIR')
      throw exists(target);
    if (why === 'ENOENT') throw notFound(source, 'entry');
    if (why === 'EINVAL') throw invalid(`${target} lies in ${source}: a folder cannot move into itself.`);
    if (why === 'EXDEV') {
      throw invalid(
        `${source} and ${target} are on different file systems, as in a mounted bucket: write the one and delete the other.`,
      );
    }
    throw failure(error, to, 'write');
  }
}

/**
 * Never replaces a file that appears meanwhile, unlike rename(2). It may on a file system without
 * hard links.
 */
async function renameToNew(calls: Calls, from: string | Buffer, to: string | Buffer): Promise<void> {
  try {
    await calls.link(from, to);
  } catch (error) {
    if (!['EPERM', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES'].includes(errno(error))) throw error;
    if ((await calls.lstat(to)) !== undefined) throw error;
    return calls.rename(from, to);
  }
  await calls.unlink(from);
}

/** Entries per request. */
const MAX_DELETED = 1_000_000;
/** Entries of a folder in memory. A larger folder is read again after these are gone. */
const MAX_NAMES = 10_000;

/**
 * Deletes a file, a link or a folder; a link's target stays. Fails if a file appears in a folder
 * meanwhile.
 * @param recursive whether a folder may have content
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `workspace_archive_write_error`
 */
export async function deleteFile(workspace: Workspace, path: string, recursive: boolean): Promise<void> {
  const absolute = resolveWorkspacePath(path, 'path');
  try {
    using place = await workspace.walk(path, { last: 'keep' });
    if (place.stat === undefined) throw notFound(absolute, 'entry');
    if (place.name === '.') throw wholeWorkspace('deleted');
    await deletePlace(workspace, place, recursive);
  } catch (error) {
    const why = errno(error);
    if (why === 'ENOENT') throw notFound(absolute, 'entry');
    if (why === 'EBUSY') throw invalid(`${absolute} holds a mounted bucket: unmount it first.`);
    if (why === 'ENOTEMPTY' || why === 'EEXIST') {
      throw invalid(
        recursive
          ? `${absolute} was written to while it was deleted: delete it again.`
          : `${absolute} is not empty: ask with recursive=true to delete what is in it.`,
      );
    }
    throw failure(error, path, 'entry');
  }
}

async function deletePlace(workspace: Workspace, place: Place, recursive: boolean): Promise<void> {
  const { directory, name, names, stat, calls } = place;
  if (stat?.isDirectory() !== true) return await calls.unlink(at(directory, name));
  if (recursive) {
    await emptyFolder(calls, directory, name, (below) => workspace.isMounted([...names, ...below]));
  }
  await calls.rmdir(at(directory, name));
}

/**
 * Deletes entries of a tree, and what is in them; those that do not exist are skipped.
 * @param paths as in `protocol/guest/tree-protocol`
 * @throws PortholeError `invalid_request`, `workspace_archive_write_error`
 */
export async function removeAll(workspace: Workspace, paths: readonly string[]): Promise<void> {
  const yielder = new Yielder();
  for (const path of paths) {
    await yielder.pause();
    if (!isTreePath(path)) throw invalid('A path must be relative to /workspace, without "." and "..".');
    try {
      using place = await workspace.walkBelow([], path, { last: 'keep' });
      if (place.stat !== undefined) await deletePlace(workspace, place, true);
    } catch (error) {
      if (error instanceof WalkError || errno(error) === 'ENOENT') continue;
      throw failure(error, `/workspace/${Buffer.from(path, 'latin1').toString('utf8')}`, 'write');
    }
  }
}

/**
 * Deletes the content of a folder, links but not their targets. Makes folders writable first.
 * @param isMounted whether a folder is a mount point: that fails with EBUSY, and none of its
 * content is deleted
 */
export async function emptyFolder(
  calls: Calls,
  directory: number,
  name: string,
  isMounted: (below: readonly string[]) => boolean = () => false,
): Promise<void> {
  const walker = await DirectoryWalker.from(calls, await calls.open(at(directory, name), FOLDER));
  const yielder = new Yielder();
  let count = 0;
  /** By level: names of remaining folders, and whether the folder may have further entries. */
  const left: { readonly folders: string[]; readonly hasMore: boolean }[] = [];
  const empty = async () => {
    const folders: string[] = [];
    if (isMounted(walker.names))
      throw Object.assign(new Error('EBUSY: mounted'), { code: 'EBUSY', syscall: 'rmdir' });
    await makeWritable(calls, walker.directory);
    const entries: Dirent[] = [];
    // Collected first: some file systems skip names when others are deleted during the reading.
    for await (const entry of entriesIn(calls, at(walker.directory, '.'))) {
      if (entries.push(entry) === MAX_NAMES) break;
    }
    for (const entry of entries) {
      await yielder.pause();
      count += 1;
      if (count > MAX_DELETED) {
        throw invalid(`The folder has more than ${MAX_DELETED} entries: delete it with a command.`);
      }
      if (entry.isDirectory()) folders.push(entry.name);
      else await ignoring(['ENOENT'], () => calls.unlink(at(walker.directory, entry.name)));
    }
    left.push({ folders, hasMore: entries.length === MAX_NAMES });
  };
  try {
    await empty();
    for (;;) {
      const next = left.at(-1)?.folders.pop();
      if (next !== undefined) await walker.enter(next);
      if (next !== undefined || left.pop()?.hasMore === true) {
        await empty();
        continue;
      }
      const done = walker.names.at(-1);
      if (done === undefined) return;
      await walker.leave();
      await calls.rmdir(at(walker.directory, done));
    }
  } finally {
    await walker.close();
  }
}

async function makeWritable(calls: Calls, directory: number): Promise<void> {
  const { mode } = await calls.fstat(directory);
  // fchmod(2) fails on an O_PATH descriptor; chmod of its /proc path works.
  if ((mode & 0o700) !== 0o700) await calls.chmod(`/proc/self/fd/${directory}`, mode | 0o700);
}

function exists(absolute: string): PortholeError {
  return new PortholeError(
    'file_exists',
    `${absolute} exists: choose another name, or delete it. overwrite replaces a file, never a folder.`,
  );
}

function wholeWorkspace(what: string): PortholeError {
  return invalid(`/workspace itself cannot be ${what}: name something in it.`);
}
