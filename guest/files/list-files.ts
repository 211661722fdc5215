import type { Stats } from 'node:fs';
import { resolveWorkspacePath } from '../../base/workspace-path.ts';
import type { FileStat } from '../../protocol/guest/files-protocol.ts';
import { at } from './at-calls.ts';
import {
  type Calls,
  direct,
  DirectoryWalker,
  entriesIn,
  errno,
  FOLDER,
  pooled,
  Yielder,
  ignoring,
} from './descriptors.ts';
import { failure, invalid, notFound } from './failures.ts';
import { metadataOf } from './file-metadata.ts';
import type { Workspace } from './workspace.ts';
import { PARTIAL } from './write-file.ts';

/** Metadata of one entry; does not follow links. @param path as the caller knows it */
export function statOf(
  path: string,
  stat: Stats,
  { target, metadata }: Pick<FileStat, 'target' | 'metadata'> = {},
): FileStat {
  return {
    path,
    type: stat.isFile()
      ? 'file'
      : stat.isDirectory()
        ? 'directory'
        : stat.isSymbolicLink()
          ? 'symlink'
          : 'other',
    size: stat.size,
    mtime: Math.floor(stat.mtimeMs / 1_000),
    mode: stat.mode & 0o7777,
    ...(target !== undefined && { target }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** A bucket has no metadata of ours, and may keep its callers waiting. */
function metadataIn(calls: Calls, folder: number, name: string): FileStat['metadata'] {
  return calls === direct ? metadataOf(folder, name) : undefined;
}

/** @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request` */
export async function statFile(workspace: Workspace, path: string, hasMetadata = false): Promise<FileStat> {
  const absolute = resolveWorkspacePath(path, 'path');
  try {
    using place = await workspace.walk(path, { last: 'keep' });
    if (place.stat === undefined) throw notFound(absolute, 'entry');
    const { calls, directory, name } = place;
    const target = await targetOf(calls, at(directory, name), place.stat);
    const metadata = hasMetadata ? metadataIn(calls, directory, name) : undefined;
    return statOf(absolute, place.stat, { target, metadata });
  } catch (error) {
    throw failure(error, path, 'read');
  }
}

/** Where a symbolic link leads. Undefined: it is no link, or no longer there. */
async function targetOf(
  calls: Calls,
  path: Parameters<Calls['readlink']>[0],
  stat: Stats,
): Promise<string | undefined> {
  if (!stat.isSymbolicLink()) return undefined;
  const target = await ignoring([...GONE_OR_SHUT, 'EINVAL'], () => calls.readlink(path));
  return target === undefined ? undefined : Buffer.from(target, 'latin1').toString('utf8');
}

export interface Folder {
  /** Closed by the receiver. */
  readonly walker: DirectoryWalker;
  readonly names: readonly string[];
  readonly calls: Calls;
}

/**
 * @param crossesMounts whether to enter subfolders that are mount points
 * @throws PortholeError `path_outside_workspace`, `workspace_read_not_found`, `invalid_request`,
 * `workspace_archive_read_error`
 */
export async function openFolder(
  workspace: Workspace,
  path: string,
  crossesMounts: boolean,
): Promise<Folder> {
  const absolute = resolveWorkspacePath(path, 'path');
  try {
    using place = await workspace.walk(path);
    const { directory, name, names, stat } = place;
    if (stat === undefined) throw notFound(absolute, 'folder');
    if (!stat.isDirectory()) throw invalid(`${absolute} is no directory: read it as a file.`);
    const calls = crossesMounts && workspace.hasMounts() ? pooled : place.calls;
    const descriptor = await calls.open(at(directory, name), FOLDER);
    return { walker: await DirectoryWalker.from(calls, descriptor), names, calls };
  } catch (error) {
    throw failure(error, path, 'folder');
  }
}

export interface ListOptions {
  /** 1: only the folder's direct entries. */
  readonly depth: number;
  readonly most: number;
  /** Names of folders that are left out with all that is in them. @default none */
  readonly skipped?: ReadonlySet<string>;
  /** @default false */
  readonly hasMetadata?: boolean;
}

/**
 * The entries below a folder, in directory order. Leaves out entries that disappear meanwhile and
 * the content of unreadable folders.
 * @returns whether there is more
 * @throws as `openFolder` does
 */
export async function* listFiles(
  workspace: Workspace,
  path: string,
  { depth, most, skipped, hasMetadata }: ListOptions,
): AsyncGenerator<FileStat, boolean, undefined> {
  const { walker, calls } = await openFolder(workspace, path, true);
  const folder = resolveWorkspacePath(path, 'path');
  const yielder = new Yielder();
  let count = 0;

  async function* below(): AsyncGenerator<FileStat, boolean, undefined> {
    const { directory } = walker;
    const folders: string[] = [];
    // One more than fits shows that there is more.
    for (const name of await firstNames(calls, directory, most - count + 1, yielder)) {
      await yielder.pause();
      const stat = await ignoring(GONE_OR_SHUT, () => calls.lstat(at(directory, name)));
      if (stat === undefined || (stat.isDirectory() && skipped?.has(name) === true)) continue;
      if (count === most) return true;
      count += 1;
      const target = await targetOf(calls, at(directory, name), stat);
      const metadata = hasMetadata === true ? metadataIn(calls, directory, name) : undefined;
      yield statOf(pathBelow(folder, [...walker.names, name]), stat, { target, metadata });
      if (stat.isDirectory()) folders.push(name);
    }
    if (walker.names.length + 1 === depth) return false;
    for (const name of folders) {
      if ((await ignoring(GONE_OR_SHUT, () => walker.enter(name))) === undefined) continue;
      try {
        if (yield* below()) return true;
      } catch (error) {
        if (!GONE_OR_SHUT.includes(errno(error))) throw error;
      } finally {
        await walker.leave();
      }
    }
    return false;
  }

  try {
    return yield* below();
  } catch (error) {
    throw failure(error, path, 'folder');
  } finally {
    await walker.close();
  }
}

/** @param names bytes as Latin-1; invalid UTF-8 becomes U+FFFD */
export function pathBelow(folder: string, names: readonly string[]): string {
  return [folder, ...names.map((name) => Buffer.from(name, 'latin1').toString('utf8'))].join('/');
}

/** The first names of a folder, sorted; its other names are not held. */
async function firstNames(
  calls: Calls,
  directory: number,
  most: number,
  yielder: Yielder,
): Promise<string[]> {
  let names: string[] = [];
  for await (const { name } of entriesIn(calls, at(directory, '.'))) {
    if (PARTIAL.test(name)) continue;
    names.push(name);
    if (names.length >= 2 * most) names = names.sort().slice(0, most);
    await yielder.pause();
  }
  return names.sort();
}

const GONE_OR_SHUT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM'];
