import fs, { type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { PortholeError } from '../../base/errors.ts';
import { BLOCK } from '../../base/tar/tar-header.ts';
import { END_OF_ARCHIVE, putGnuHeaders, tarEntry } from '../../base/tar/write-tar.ts';
import { at } from './at-calls.ts';
import {
  type Calls,
  type DirectoryWalker,
  direct,
  lossOf,
  type OpenFolder,
  READ,
  Yielder,
} from './descriptors.ts';
import { BUFFER_BYTES, DoubleBuffer, type Sink } from './double-buffer.ts';
import { invalid, reasonOf } from './failures.ts';
import { openFolder } from './list-files.ts';
import type { Workspace } from './workspace.ts';
import { PARTIAL } from './write-file.ts';

const readPooled = promisify(fs.read);

export interface TarOutOptions {
  /** Paths below the folder to leave out; exact names, no patterns. */
  readonly excludes: readonly string[];
  /**
   * Whether each name of a file with several names has the contents; otherwise all but the first
   * are hard links.
   */
  readonly copiesHardLinks: boolean;
}

/** Size in bytes for a header with the longest names. */
const HEADERS = 16 * 1024;
/** Longer paths would be refused on unpacking (`ArchiveTree`). */
const MAX_PATH = 4_000;
/** Names of files with several names, in bytes; beyond it contents are written again. */
const MAX_LINK_BYTES = 4_194_304;
/** Names of subfolders in memory, per level. */
const MAX_FOLDERS = 10_000;

/**
 * A folder as a tar with members `./…`: without the content of mount points, devices, sockets and
 * partial files. Unreadable entries are left out, and named in the last member. A file that changes
 * meanwhile contributes as many bytes as it had when it was opened.
 * @returns how many files and folders were left out
 * @throws PortholeError as `openFolder` does; `workspace_archive_read_error`, also half-way: the
 * archive is then truncated
 */
export async function tarOut(
  workspace: Workspace,
  path: string,
  { excludes, copiesHardLinks }: TarOutOptions,
  sink: Sink,
): Promise<number> {
  const left = new Set(excludes.flatMap(excludedPath));
  const { walker, names, calls } = await openFolder(workspace, path, false);
  try {
    const writer = new TarWriter(walker, calls, sink, copiesHardLinks);
    await writer.folder((below, name) => {
      if (PARTIAL.test(name)) return 'left out';
      if (left.size > 0 && left.has([...below, name].join('/'))) return 'left out';
      return workspace.hasMounts() && workspace.isMounted([...names, ...below], name) ? 'mounted' : 'taken';
    });
    await writer.end();
    return writer.unreadable;
  } catch (error) {
    if (error instanceof PortholeError) throw error;
    throw new PortholeError('workspace_archive_read_error', `tar failed: ${reasonOf(error)}`, {
      cause: error,
    });
  } finally {
    await walker.close();
  }
}

type Choice = (below: readonly string[], name: string) => 'taken' | 'left out' | 'mounted';

class TarWriter {
  unreadable = 0;
  readonly #walker: DirectoryWalker;
  readonly #calls: Calls;
  readonly #buffer: DoubleBuffer;
  readonly #yielder = new Yielder();
  /** The path of each written file with several names; undefined: they are copied. */
  readonly #linked: Map<string, string> | undefined;
  #linkBytes = 0;
  readonly #named: string[] = [];
  /** Path of the current folder: `./a/b/`. */
  #prefix = './';

  constructor(walker: DirectoryWalker, calls: Calls, sink: Sink, copiesHardLinks: boolean) {
    this.#walker = walker;
    this.#calls = calls;
    this.#buffer = new DoubleBuffer(sink);
    this.#linked = copiesHardLinks ? undefined : new Map();
  }

  /** Writes the current folder of the walk, and its content. */
  async folder(choose: Choice, stat?: Stats): Promise<void> {
    let open: OpenFolder;
    try {
      open = await this.#calls.opendir(at(this.#walker.directory, '.'));
    } catch (error) {
      if (this.#walker.names.length === 0 || !this.#isLeftOut(error, this.#prefix.slice(0, -1))) throw error;
      return;
    }
    const folders: string[] = [];
    try {
      await this.#header(this.#prefix, '5', stat ?? (await this.#calls.fstat(this.#walker.directory)));
      for (let entry = await open.read(); entry !== null; entry = await open.read()) {
        const { name } = entry;
        await this.#yielder.pause();
        const choice = choose(this.#walker.names, name);
        if (choice === 'left out') continue;
        if (this.#prefix.length + name.length > MAX_PATH) this.#leaveOut(`${this.#prefix}${name}`);
        else if (choice === 'mounted') await this.#mountPoint(entry);
        else if (!entry.isDirectory()) await this.#entry(entry, this.#walker.directory);
        else if (folders.push(name) === MAX_FOLDERS) await this.#subfolders(folders.splice(0), choose);
      }
    } finally {
      await open.close();
    }
    await this.#subfolders(folders, choose);
  }

  async #subfolders(folders: readonly string[], choose: Choice): Promise<void> {
    const prefix = this.#prefix;
    for (const name of folders) {
      let stat: Stats;
      try {
        stat = await this.#walker.enter(name);
      } catch (error) {
        if (this.#isLeftOut(error, `${prefix}${name}`)) continue;
        throw error;
      }
      this.#prefix = `${prefix}${name}/`;
      await this.folder(choose, stat);
      this.#prefix = prefix;
      await this.#walker.leave();
    }
  }

  /** Writes a file that lists the missing entries, then the end of the archive. */
  async end(): Promise<void> {
    if (this.unreadable > 0) {
      const more = this.unreadable - this.#named.length;
      const lines = [
        'Not in this archive, because the user of the sandbox may not read it:',
        ...this.#named,
        ...(more === 0 ? [] : [`and ${more} more`]),
      ];
      const content = Buffer.from(`${lines.join('\n')}\n`, 'latin1');
      await this.#bytes(tarEntry({ path: './.porthole-unreadable-files', isExecutable: false, content }));
    }
    await this.#bytes(END_OF_ARCHIVE);
    await this.#buffer.end();
  }

  async #entry(entry: fs.Dirent, directory: number): Promise<void> {
    const { name } = entry;
    const path = `${this.#prefix}${name}`;
    try {
      if (entry.isFile()) await this.#file(path, at(directory, name));
      else if (entry.isSymbolicLink()) {
        const target = await this.#calls.readlink(at(directory, name));
        await this.#header(path, '2', await this.#calls.lstat(at(directory, name)), target);
      } else if (entry.isFIFO()) await this.#header(path, '6', await this.#calls.lstat(at(directory, name)));
    } catch (error) {
      if (!this.#isLeftOut(error, path)) throw error;
    }
  }

  async #file(path: string, source: string | Buffer): Promise<void> {
    const descriptor = await this.#calls.open(source, READ);
    try {
      const stat = await this.#calls.fstat(descriptor);
      if (!stat.isFile()) return;
      if (stat.nlink > 1 && this.#linked !== undefined) {
        const key = `${stat.dev}:${stat.ino}`;
        const first = this.#linked.get(key);
        if (first !== undefined) return await this.#header(path, '1', stat, first);
        if (this.#linkBytes < MAX_LINK_BYTES) {
          this.#linkBytes += path.length;
          this.#linked.set(key, path);
        }
      }
      await this.#header(path, '0', stat);
      await this.#contents(descriptor, stat.size);
    } finally {
      await this.#calls.close(descriptor);
    }
  }

  async #contents(descriptor: number, size: number): Promise<void> {
    const buffer = this.#buffer;
    let hasEnded = false;
    for (let position = 0; position < size; ) {
      await buffer.makeRoom(size <= BUFFER_BYTES ? size : 1);
      const wanted = Math.min(buffer.left, size - position);
      const read = hasEnded
        ? 0
        : this.#calls === direct && size <= BUFFER_BYTES
          ? fs.readSync(descriptor, buffer.bytes, buffer.used, wanted, null)
          : (await readPooled(descriptor, buffer.bytes, buffer.used, wanted, null)).bytesRead;
      if (read === 0) {
        // It became shorter; the header with its size is already written.
        hasEnded = true;
        buffer.bytes.fill(0, buffer.used, buffer.used + wanted);
      }
      const filled = read === 0 ? wanted : read;
      buffer.used += filled;
      position += filled;
    }
    await this.#pad(size);
  }

  async #bytes(bytes: Buffer): Promise<void> {
    const buffer = this.#buffer;
    for (let from = 0; from < bytes.length; ) {
      await buffer.makeRoom(1);
      const copied = bytes.copy(buffer.bytes, buffer.used, from);
      buffer.used += copied;
      from += copied;
    }
  }

  async #pad(size: number): Promise<void> {
    await this.#bytes(END_OF_ARCHIVE.subarray(0, (BLOCK - (size % BLOCK)) % BLOCK));
  }

  /** Nothing without its metadata: it has just disappeared. */
  async #header(path: string, type: string, stat: Stats | undefined, linkName = ''): Promise<void> {
    if (stat === undefined) return;
    const { mode, uid, gid, mtimeMs } = stat;
    const size = type === '0' ? stat.size : 0;
    await this.#headerOf(
      path,
      type,
      { mode: mode & 0o7777, uid, gid, size, mtime: mtimeMs / 1_000 },
      linkName,
    );
  }

  async #headerOf(
    name: string,
    type: string,
    rest: { mode: number; uid: number; gid: number; size: number; mtime: number },
    linkName = '',
  ): Promise<void> {
    const buffer = this.#buffer;
    await buffer.makeRoom(HEADERS);
    buffer.used = putGnuHeaders(buffer.bytes, buffer.used, { ...rest, name, type, linkName });
  }

  /** An empty folder; reading a mount point may take seconds. */
  async #mountPoint(entry: fs.Dirent): Promise<void> {
    if (!entry.isDirectory()) return;
    const rest = { mode: 0o755, uid: 0, gid: 0, size: 0, mtime: 0 };
    await this.#headerOf(`${this.#prefix}${entry.name}/`, '5', rest);
  }

  /** False if the failure breaks the archive. An entry that has just disappeared is skipped. */
  #isLeftOut(error: unknown, path: string): boolean {
    const loss = lossOf(error);
    if (loss === 'unreadable') this.#leaveOut(path);
    return loss !== undefined;
  }

  #leaveOut(path: string): void {
    this.unreadable += 1;
    if (this.#named.length < 1_000) this.#named.push(printable(path));
  }
}

/** Escapes bytes that would end or hide a line. */
function printable(path: string): string {
  return path.replace(/\\|[^\x20-\x7e\x80-\xff]/g, (char) =>
    char === '\\' ? '\\\\' : char === '\n' ? '\\n' : `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
}

/** Empty for the folder itself. */
function excludedPath(path: string): string[] {
  if (path.includes('..')) throw invalid('exclude paths must not contain ".."');
  if (path.includes('\0')) throw invalid('exclude paths must not contain a NUL character');
  const below = path.replace(/^(?:\.?\/)+/, '').replace(/(?<!\/)\/+$/, '');
  return below === '' || below === '.' ? [] : [Buffer.from(below).toString('latin1')];
}
