import fs, { type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { PortholeError } from '../../base/errors.ts';
import { at, CREATE, moveFile } from './at-calls.ts';
import {
  bytesOf,
  type Calls,
  DirectoryWalker,
  direct,
  errno,
  FOLDER,
  pooled,
  quietly,
  READ,
  Yielder,
} from './descriptors.ts';
import { failure, invalid } from './failures.ts';
import { noMetadata } from './file-metadata.ts';
import { EXACT_MODE, type FolderTimes, type Stage } from './stage.ts';
import { type Workspace, WalkError } from './workspace.ts';
import { partialName, PERMISSIONS } from './write-file.ts';

/** An existing folder of the workspace. */
interface Destination {
  readonly walker: DirectoryWalker;
  /** Resolved path of the folder where `walker` began. */
  readonly start: readonly string[];
  readonly calls: Calls;
}

/**
 * Moves the content of a stage to its place in the workspace. Checks everything first, so that an
 * entry that cannot be placed, or would leave the workspace through a link, is found before any
 * change. A new folder is moved as a whole; an existing one keeps its mode, unless the stage has
 * exact modes.
 * @param replacesFiles whether an entry takes the place of what is there, as in tar: a file or a
 * link, with their modes. Otherwise a file keeps its mode, a link leads to the file that is
 * written, and nothing is written where a folder would replace a file
 * @throws PortholeError `path_outside_workspace`, `forbidden`, `invalid_request`,
 * `workspace_archive_write_error`
 */
export async function placeFiles(workspace: Workspace, stage: Stage, replacesFiles: boolean): Promise<void> {
  const folders = stage.isExact ? stage.folders : new Map<string, FolderTimes>();
  const placing = new Placing(workspace, replacesFiles, folders, Object.keys(stage.metadata).length > 0);
  await placing.pass('look', stage);
  await stage.shutFolders((path) => isBelow(path, placing.fresh));
  stage.forgetFolders();
  await placing.pass('move', stage);
}

class Placing {
  /** Folders of the stage to move as a whole. */
  readonly fresh = new Set<string>();
  readonly #workspace: Workspace;
  readonly #replacesFiles: boolean;
  /** Modes of existing folders, by path in the stage. */
  readonly #folders: ReadonlyMap<string, FolderTimes>;
  readonly #hasMetadata: boolean;
  readonly #yielder = new Yielder();
  #pass: 'look' | 'move' = 'look';
  #stage!: DirectoryWalker;
  #device = 0;

  constructor(
    workspace: Workspace,
    replacesFiles: boolean,
    folders: ReadonlyMap<string, FolderTimes>,
    hasMetadata: boolean,
  ) {
    this.#workspace = workspace;
    this.#hasMetadata = hasMetadata;
    this.#replacesFiles = replacesFiles;
    this.#folders = folders;
  }

  async pass(pass: 'look' | 'move', stage: Stage): Promise<void> {
    this.#pass = pass;
    this.#stage = await DirectoryWalker.from(direct, fs.openSync(at(stage.directory, '.'), FOLDER));
    this.#device = fs.fstatSync(stage.directory).dev;
    const walker = await DirectoryWalker.from(direct, await this.#workspace.open());
    const top = { walker, start: [], calls: direct };
    try {
      await this.#folder(top);
    } finally {
      await top.walker.close();
      await this.#stage.close();
    }
  }

  /** Moves the content of the stage's folder into the workspace's. */
  async #folder(to: Destination): Promise<void> {
    const from = this.#stage.directory;
    const into = to.walker.directory;
    const isFar = this.#pass === 'move' && (await this.#isFar(into, to.calls));
    const entries = fs.readdirSync(at(from, '.'), { withFileTypes: true, encoding: 'latin1' });
    for (const entry of entries) {
      await this.#yielder.pause();
      const { name } = entry;
      if (entry.isDirectory()) {
        await this.#subfolder(to, name, await to.calls.lstat(at(into, name)), isFar);
        continue;
      }
      this.#workspace.check([...to.start, ...to.walker.names, name]);
      if (!this.#replacesFiles) await this.#write(to, name);
      else if (this.#pass === 'look') {
        if (await to.calls.isFolder(into, name)) throw this.#taken(name);
      } else if (isFar) await this.#copy(name, into, name, to.calls);
      // A folder has taken the file's place since the check.
      else if (!moveFile(from, name, into, name)) throw this.#taken(name);
    }
  }

  async #isFar(folder: number, calls: Calls): Promise<boolean> {
    return (await calls.fstat(folder)).dev !== this.#device;
  }

  /** A copy to another disk would lose it. */
  async #checkMetadata(into: number, calls: Calls): Promise<void> {
    if (this.#hasMetadata && (await this.#isFar(into, calls))) throw noMetadata();
  }

  /** Like a write of the file that is there: it keeps its mode, and a link leads to it. */
  async #write(to: Destination, name: string): Promise<void> {
    const names = [...to.start, ...to.walker.names];
    using place = await this.#workspace.walkBelow(names, name).catch((error: unknown) => {
      const path = Buffer.from([...names, name].join('/'), 'latin1').toString('utf8');
      throw failure(error, `/workspace/${path}`, 'write');
    });
    const { directory: into, calls, stat } = place;
    if (stat?.isDirectory() === true) throw this.#taken(name);
    if (this.#pass === 'look') return this.#checkMetadata(into, calls);
    const from = this.#stage.directory;
    if (await this.#isFar(into, calls)) {
      return this.#copy(name, into, place.name, calls, stat?.mode);
    }
    if (stat !== undefined) setMode(from, name, stat.mode & PERMISSIONS);
    if (!moveFile(from, name, into, place.name)) throw this.#taken(name);
  }

  async #subfolder(to: Destination, name: string, stat: Stats | undefined, isFar: boolean): Promise<void> {
    const path = at(to.walker.directory, name);
    const known = stat === undefined ? undefined : await this.#enter(to, name, stat);
    if (known === undefined) {
      if (stat !== undefined && !this.#replacesFiles) throw this.#taken(name);
      if (this.#pass === 'look') {
        await this.#checkMetadata(to.walker.directory, to.calls);
        this.#workspace.check([...to.start, ...to.walker.names, name]);
        this.fresh.add([...this.#stage.names, name].join('/'));
        return;
      }
      if (stat !== undefined) await to.calls.unlink(path);
      if (!isFar) return this.#moveFolder(name, path);
      await to.calls.mkdir(path, 0o755);
      const made = await to.calls.lstat(path);
      if (made === undefined) throw this.#taken(name);
      return this.#subfolder(to, name, made, isFar);
    }
    await this.#stage.enter(name);
    try {
      await this.#folder(known);
      const mode = this.#pass === 'move' ? this.#folders.get(this.#stage.names.join('/'))?.mode : undefined;
      // Last, because a mode may close a folder.
      if (mode !== undefined) await known.calls.chmod(at(known.walker.directory, '.'), mode & EXACT_MODE);
    } finally {
      await this.#stage.leave();
      if (known === to) await to.walker.leave();
      else await known.walker.close();
    }
  }

  /** Undefined if it is neither a folder nor a link to one. */
  async #enter(to: Destination, name: string, stat: Stats): Promise<Destination | undefined> {
    const names = [...to.start, ...to.walker.names];
    if (stat.isDirectory() && !(this.#workspace.isMounted(names, name) && to.calls === direct)) {
      await to.walker.enter(name);
      return to;
    }
    if (!stat.isDirectory() && !(await leadsToFolder(at(to.walker.directory, name)))) return undefined;
    try {
      const place = await this.#workspace.walkBelow(names, `${name}/.`);
      // Subfolders may be on another disk or on a bucket.
      const calls = this.#workspace.hasMounts() ? pooled : place.calls;
      return { walker: await DirectoryWalker.from(calls, place.directory), start: place.names, calls };
    } catch (error) {
      if (error instanceof WalkError) return undefined;
      throw error;
    }
  }

  /** A folder without write permission cannot be moved (rename(2): `..` changes). */
  #moveFolder(name: string, path: string | Buffer): void {
    const from = at(this.#stage.directory, name);
    const descriptor = fs.openSync(from, FOLDER);
    try {
      const mode = fs.fstatSync(descriptor).mode & 0o7777;
      const isShut = (mode & 0o200) === 0;
      if (isShut) fs.chmodSync(`/proc/self/fd/${descriptor}`, mode | 0o200);
      fs.renameSync(from, path);
      if (isShut) fs.chmodSync(`/proc/self/fd/${descriptor}`, mode);
    } finally {
      fs.closeSync(descriptor);
    }
  }

  /** Copies to another file system, where rename(2) fails: complete, or not at all. */
  async #copy(name: string, into: number, newName: string, calls: Calls, mode?: number): Promise<void> {
    const from = at(this.#stage.directory, name);
    const partial = at(into, partialName());
    const stat = fs.lstatSync(from);
    try {
      if (stat.isSymbolicLink()) await calls.symlink(bytesOf(fs.readlinkSync(from, 'latin1')), partial);
      else if (stat.isFile()) await copyFile(from, partial, mode ?? stat.mode, calls);
      else return;
      await calls.rename(partial, at(into, newName));
    } catch (error) {
      await quietly(() => calls.unlink(partial));
      throw error;
    }
  }

  #taken(name: string): PortholeError {
    if (!this.#replacesFiles) return replacesFolder();
    const shown = Buffer.from(name, 'latin1').toString('utf8');
    return new PortholeError('workspace_archive_write_error', `./${shown}: a folder is there already`);
  }
}

export function replacesFolder(): PortholeError {
  return invalid('A file would replace a folder that is there, or lie in a file: remove that first.');
}

/** Whether a link's target is a folder, in the workspace or not: a walk decides that. */
async function leadsToFolder(path: string | Buffer): Promise<boolean> {
  try {
    return (await promisify(fs.stat)(path)).isDirectory();
  } catch (error) {
    if (errno(error) === '') throw error;
    return false;
  }
}

/** Of a file, never of what a link in its place leads to. */
function setMode(folder: number, name: string, mode: number): void {
  const descriptor = fs.openSync(at(folder, name), READ);
  try {
    fs.fchmodSync(descriptor, mode);
  } finally {
    fs.closeSync(descriptor);
  }
}

async function copyFile(
  from: string | Buffer,
  to: string | Buffer,
  mode: number,
  calls: Calls,
): Promise<void> {
  const source = fs.openSync(from, READ);
  let target: number | undefined;
  try {
    target = await calls.open(to, CREATE, mode & 0o777);
    const buffer = Buffer.allocUnsafe(128 * 1024);
    for (let read = -1; read !== 0; ) {
      read = fs.readSync(source, buffer);
      await calls.write(target, buffer.subarray(0, read));
    }
  } finally {
    fs.closeSync(source);
    if (target !== undefined) await calls.close(target);
  }
}

/** Whether a path equals one of them or is below one. */
function isBelow(path: string, tops: ReadonlySet<string>): boolean {
  if (tops.has(path)) return true;
  for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
    if (tops.has(path.slice(0, end))) return true;
  }
  return false;
}
