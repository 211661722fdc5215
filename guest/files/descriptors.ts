/**
 * File access by directory descriptor. Node has no openat(2): `/proc/self/fd/N/name` with
 * `O_NOFOLLOW` is equivalent. Swapping a folder for a link between two calls has no effect
 * (TOCTOU).
 */
import fs from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { at, isFolder, NOT_ASCII } from './at-calls.ts';

/** The same on x64 and arm64 (fcntl.h); Node does not export it. */
const O_PATH = 0o10000000;

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants;

/** Flags for a folder to traverse: needs no read permission. */
export const FOLDER = O_PATH | O_DIRECTORY | O_NOFOLLOW;
/** Does not block on the writer of a FIFO, or on the holder of a lease. */
export const READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

export const bytesOf = (name: string): string | Buffer =>
  NOT_ASCII.test(name) ? Buffer.from(name, 'latin1') : name;

type Path = string | Buffer;
type Now<T> = T | Promise<T>;

/** A folder read in pieces: all names of a large one do not fit the guest's memory. */
export interface OpenFolder {
  /** null at the end */
  read(): Now<fs.Dirent | null>;
  close(): Now<void>;
}

/** The size is the number of entries per read. */
const READDIR = { encoding: 'latin1', bufferSize: 256 } as const;

/** File system calls, synchronous or in the thread pool. */
export interface Calls {
  open(path: Path, flags: number, mode?: number): Now<number>;
  close(descriptor: number): Now<void>;
  fstat(descriptor: number): Now<fs.Stats>;
  /** Undefined if nothing has that name. */
  lstat(path: Path): Now<fs.Stats | undefined>;
  /** False if nothing has that name, or a link to a folder has. */
  isFolder(folder: number, name: string): Now<boolean>;
  readlink(path: Path): Now<string>;
  opendir(path: Path): Now<OpenFolder>;
  mkdir(path: Path, mode: number): Now<unknown>;
  rename(from: Path, to: Path): Now<void>;
  link(from: Path, to: Path): Now<void>;
  symlink(target: Path, path: Path): Now<void>;
  unlink(path: Path): Now<void>;
  rmdir(path: Path): Now<void>;
  chmod(path: Path, mode: number): Now<void>;
  /** Writes all of them. */
  write(descriptor: number, bytes: Buffer): Now<void>;
}

/** Synchronous: a call to a local disk takes microseconds, the thread pool ten times as long. */
export const direct: Calls = {
  open: fs.openSync,
  close: fs.closeSync,
  fstat: (descriptor) => fs.fstatSync(descriptor),
  lstat: (path) => fs.lstatSync(path, { throwIfNoEntry: false }),
  isFolder,
  readlink: (path) => fs.readlinkSync(path, 'latin1'),
  opendir: (path) => {
    const folder = fs.opendirSync(path, READDIR);
    return { read: () => folder.readSync(), close: () => folder.closeSync() };
  },
  mkdir: fs.mkdirSync,
  rename: fs.renameSync,
  link: fs.linkSync,
  symlink: (target, path) => fs.symlinkSync(target, path),
  unlink: fs.unlinkSync,
  rmdir: (path) => fs.rmdirSync(path),
  chmod: fs.chmodSync,
  write: writeNow,
};

const writePooled = promisify(fs.write);

/** In the thread pool: calls to a mounted bucket may take seconds and must not block the guest. */
export const pooled: Calls = {
  open: promisify(fs.open),
  close: promisify(fs.close),
  fstat: (descriptor) => promisify(fs.fstat)(descriptor),
  lstat: (path) => ignoring(['ENOENT'], () => fs.promises.lstat(path)),
  isFolder: async (folder, name) => (await pooled.lstat(at(folder, name)))?.isDirectory() === true,
  readlink: (path) => fs.promises.readlink(path, 'latin1'),
  opendir: (path) => fs.promises.opendir(path, READDIR),
  mkdir: fs.promises.mkdir,
  rename: fs.promises.rename,
  link: fs.promises.link,
  symlink: (target, path) => fs.promises.symlink(target, path),
  unlink: fs.promises.unlink,
  rmdir: (path) => fs.promises.rmdir(path),
  chmod: fs.promises.chmod,
  write: async (descriptor, bytes) => {
    for (let from = 0; from < bytes.length; ) {
      from += (await writePooled(descriptor, bytes, from)).bytesWritten;
    }
  },
};

export async function* entriesIn(calls: Calls, path: Path): AsyncGenerator<fs.Dirent, void, undefined> {
  const folder = await calls.opendir(path);
  try {
    for (let entry = await folder.read(); entry !== null; entry = await folder.read()) yield entry;
  } finally {
    await folder.close();
  }
}

/** The code of a failed system call, such as `ENOENT`. Empty for any other error. */
export function errno(error: unknown): string {
  const { syscall, code } = (error ?? {}) as { readonly syscall?: unknown; readonly code?: unknown };
  return syscall === undefined || typeof code !== 'string' ? '' : code;
}

/**
 * What a failed call means for an entry of a walk: it has just disappeared, or the sandbox's user
 * may not read it. Undefined for a failure of the walk.
 */
export function lossOf(error: unknown): 'gone' | 'unreadable' | undefined {
  const why = errno(error);
  if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes(why)) return 'gone';
  return ['EACCES', 'EPERM', 'EAGAIN', 'ENAMETOOLONG'].includes(why) ? 'unreadable' : undefined;
}

/** Undefined where the call fails with one of these codes. */
export async function ignoring<T>(codes: readonly string[], call: () => Now<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (!codes.includes(errno(error))) throw error;
    return undefined;
  }
}

export function writeNow(descriptor: number, bytes: Buffer): void {
  for (let from = 0; from < bytes.length; ) from += fs.writeSync(descriptor, bytes, from);
}

/** For cleanup after a failure: the caller gets the first error. */
export async function quietly(call: () => unknown): Promise<void> {
  try {
    await call();
  } catch {}
}

/** Longest run of synchronous calls before other work gets its turn, in milliseconds. */
const SLICE_MS = 8;

/** Yields to connections and processes between the calls of a long operation. */
export class Yielder {
  #began = performance.now();

  /** Whether `pause` would yield; for calls so short that a promise for each would count. */
  get isDue(): boolean {
    return performance.now() - this.#began >= SLICE_MS;
  }

  async pause(): Promise<void> {
    if (!this.isDue) return;
    await nextTurn();
    this.#began = performance.now();
  }
}

interface Level {
  descriptor: number | undefined;
  readonly dev: number;
  readonly ino: number;
}

/** Open descriptors of a deep tree; the others are reopened. */
const MAX_HELD = 32;

/**
 * Position of a walk in a tree of any depth. Goes back up by `..`, and verifies by device and inode
 * that the parent is still the same folder.
 */
export class DirectoryWalker {
  readonly names: string[] = [];
  readonly #calls: Calls;
  readonly #levels: Level[];

  /** @param descriptor of the top folder, closed with the rest */
  private constructor(calls: Calls, descriptor: number, { dev, ino }: fs.Stats) {
    this.#calls = calls;
    this.#levels = [{ descriptor, dev, ino }];
  }

  static async from(calls: Calls, descriptor: number): Promise<DirectoryWalker> {
    return new DirectoryWalker(calls, descriptor, await calls.fstat(descriptor));
  }

  get directory(): number {
    return this.#levels.at(-1)?.descriptor as number;
  }

  async enter(name: string): Promise<fs.Stats> {
    const descriptor = await this.#calls.open(at(this.directory, name), FOLDER);
    const stat = await this.#calls.fstat(descriptor);
    this.#levels.push({ descriptor, dev: stat.dev, ino: stat.ino });
    this.names.push(name);
    const far = this.#levels.at(-1 - MAX_HELD);
    if (far?.descriptor !== undefined) {
      await this.#calls.close(far.descriptor);
      far.descriptor = undefined;
    }
    return stat;
  }

  /** @throws Error if the folder was moved meanwhile */
  async leave(): Promise<void> {
    const left = this.#levels.pop()?.descriptor as number;
    this.names.pop();
    const level = this.#levels.at(-1);
    try {
      if (level === undefined || level.descriptor !== undefined) return;
      const descriptor = await this.#calls.open(at(left, '..'), FOLDER);
      level.descriptor = descriptor;
      const { dev, ino } = await this.#calls.fstat(descriptor);
      if (dev !== level.dev || ino !== level.ino) throw new Error('a folder was moved concurrently');
    } finally {
      await this.#calls.close(left);
    }
  }

  async close(): Promise<void> {
    for (const { descriptor } of this.#levels.splice(0)) {
      if (descriptor !== undefined) await this.#calls.close(descriptor);
    }
  }
}
