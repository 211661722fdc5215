import fs from 'node:fs';
import { PortholeError } from '../../base/errors.ts';
import type { FileMetadata } from '../../protocol/guest/files-protocol.ts';
import { at, createFile, makeFifo } from './at-calls.ts';
import { emptyFolder } from './change-files.ts';
import { bytesOf, direct, errno, FOLDER, quietly, Yielder, writeNow } from './descriptors.ts';
import { setMetadata } from './file-metadata.ts';
import { MASKED, partialName } from './write-file.ts';

/** Open folder descriptors: archives come folder by folder. */
const MAX_OPEN = 32;
/**
 * Permission bits after the default umask(2); the set-user-id, set-group-id and sticky bits are
 * dropped.
 */
const KEPT_MODE = 0o755;
/** All permission bits: the archive was made of this workspace. */
export const EXACT_MODE = 0o777;

export interface FolderTimes {
  readonly mode: number;
  readonly mtime: number;
}

/**
 * A new folder in the workspace in which files are created before they are moved: until then
 * nothing has changed, and no link is in any path. It is on the workspace's own disk, so calls are
 * synchronous.
 */
export class Stage {
  readonly directory: number;
  /** Folders that have an entry in the archive, by path. */
  readonly folders = new Map<string, FolderTimes>();
  /** Whether modes are kept as they are in the archive. */
  readonly isExact: boolean;
  /** Of all files. */
  readonly metadata: FileMetadata;
  readonly #root: number;
  readonly #keptMode: number;
  readonly #name: string;
  readonly #open = new Map<string, number>();
  #file: { readonly descriptor: number; readonly mtime: number | undefined } | undefined;

  /** @param root of the workspace, open */
  constructor(root: number, keptMode = KEPT_MODE, metadata: FileMetadata = {}) {
    this.#root = root;
    this.metadata = metadata;
    this.isExact = keptMode === EXACT_MODE;
    this.#keptMode = keptMode;
    this.#name = partialName();
    fs.mkdirSync(at(root, this.#name), 0o700);
    this.directory = fs.openSync(at(root, this.#name), FOLDER);
  }

  /** Paths are relative, without `.` and `..`; bytes as Latin-1. */
  folder(path: string, times?: FolderTimes): void {
    this.#descriptorOf(path);
    if (times !== undefined && path !== '') this.folders.set(path, times);
  }

  /** Begins a file; replaces one of that name. @param mtime undefined: now */
  file(path: string, mode: number, mtime?: number): void {
    this.endFile();
    const place = this.#place(path);
    const kept = mode & this.#keptMode;
    const descriptor = replacing(place, () => createFile(...place, kept));
    this.#file = { descriptor, mtime };
    if (MASKED || this.isExact) fs.fchmodSync(descriptor, kept);
    setMetadata(descriptor, this.metadata);
  }

  write(bytes: Buffer): void {
    if (this.#file !== undefined) writeNow(this.#file.descriptor, bytes);
  }

  endFile(): void {
    if (this.#file === undefined) return;
    const { descriptor, mtime } = this.#file;
    this.#file = undefined;
    try {
      if (mtime !== undefined) fs.futimesSync(descriptor, mtime, mtime);
    } finally {
      fs.closeSync(descriptor);
    }
  }

  symlink(path: string, target: string, mtime: number): void {
    const place = this.#place(path);
    replacing(place, () => fs.symlinkSync(bytesOf(target), at(...place)));
    fs.lutimesSync(at(...place), mtime, mtime);
  }

  hardLink(path: string, target: string): void {
    this.endFile();
    const slash = target.lastIndexOf('/');
    // A descriptor for this call alone: opening the other folder may close those of the cache.
    const above = fs.openSync(at(this.#descriptorOf(target.slice(0, Math.max(slash, 0))), '.'), FOLDER);
    try {
      const place = this.#place(path);
      replacing(place, () => fs.linkSync(at(above, target.slice(slash + 1)), at(...place)));
    } finally {
      fs.closeSync(above);
    }
  }

  fifo(path: string, mode: number): void {
    const place = this.#place(path);
    try {
      fs.unlinkSync(at(...place));
    } catch {}
    const kept = mode & this.#keptMode;
    if (!makeFifo(...place, kept)) {
      throw new PortholeError(
        'workspace_archive_write_error',
        'tar extract failed: the archive has a FIFO, and this sandbox cannot make one. Leave it out of the archive.',
      );
    }
    if (MASKED || this.isExact) fs.chmodSync(at(...place), kept);
  }

  /**
   * Sets modes and times of the `chosen` folders as in the archive. Deepest first, because a mode
   * may close a folder.
   */
  async shutFolders(chosen: (path: string) => boolean): Promise<void> {
    const yielder = new Yielder();
    const paths = [...this.folders.keys()].filter(chosen).sort((one, other) => other.length - one.length);
    for (const path of paths) {
      await yielder.pause();
      const { mode, mtime } = this.folders.get(path) as FolderTimes;
      const folder = `/proc/self/fd/${this.#descriptorOf(path)}`;
      fs.chmodSync(folder, mode & this.#keptMode);
      fs.utimesSync(folder, mtime, mtime);
    }
  }

  /** Removes its remaining content. */
  async close(): Promise<void> {
    await quietly(() => this.endFile());
    for (const descriptor of this.#open.values()) fs.closeSync(descriptor);
    this.#open.clear();
    fs.closeSync(this.directory);
    await quietly(() => emptyFolder(direct, this.#root, this.#name));
    await quietly(() => fs.rmdirSync(at(this.#root, this.#name)));
  }

  /** Closes the open folders: from now on they are moved. */
  forgetFolders(): void {
    for (const descriptor of this.#open.values()) fs.closeSync(descriptor);
    this.#open.clear();
  }

  #place(path: string): [folder: number, name: string] {
    const slash = path.lastIndexOf('/');
    const folder = slash === -1 ? this.directory : this.#descriptorOf(path.slice(0, slash));
    return [folder, path.slice(slash + 1)];
  }

  #descriptorOf(path: string): number {
    if (path === '') return this.directory;
    const known = this.#open.get(path);
    if (known !== undefined) {
      // Least recently used order: the last used is closed last.
      this.#open.delete(path);
      this.#open.set(path, known);
      return known;
    }
    const folder = at(...this.#place(path));
    let descriptor: number;
    try {
      descriptor = fs.openSync(folder, FOLDER);
    } catch (error) {
      if (errno(error) !== 'ENOENT') throw error;
      fs.mkdirSync(folder, 0o755);
      descriptor = fs.openSync(folder, FOLDER);
    }
    this.#open.set(path, descriptor);
    if (this.#open.size > MAX_OPEN) {
      const [oldest, unused] = this.#open.entries().next().value as [string, number];
      fs.closeSync(unused);
      this.#open.delete(oldest);
    }
    return descriptor;
  }
}

function replacing<T>(place: [folder: number, name: string], make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw error;
    fs.unlinkSync(at(...place));
    return make();
  }
}
