import fs, { type Stats } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { FRAME_HEAD, frameHead } from '../../base/frames.ts';
import { PortholeError } from '../../base/errors.ts';
import {
  MAX_KNOWN_RANGES,
  MAX_TREE_CONTENTS,
  MAX_TREE_PATH,
  TREE,
  type TreeEnd,
  type TreeEntry,
  treeOrder,
} from '../../protocol/guest/tree-protocol.ts';
import { Freeze, FROZEN_MS } from '../freeze-processes.ts';
import { at, statusOf } from './at-calls.ts';
import { type Calls, type DirectoryWalker, direct, lossOf, READ, Yielder } from './descriptors.ts';
import { BUFFER_BYTES, DoubleBuffer, type Sink } from './double-buffer.ts';
import { invalid, reasonOf } from './failures.ts';
import { openFolder } from './list-files.ts';
import type { Workspace } from './workspace.ts';
import { PARTIAL } from './write-file.ts';

const readPooled = promisify(fs.read);

/** A shorter rest of a buffer is sent as it is. */
const LEAST = 4_096;
/** Names of files with several names, in bytes; beyond it contents are sent again. */
const MAX_LINK_BYTES = 4_194_304;
/**
 * Resolution of a file system's times, in ms: a tick of the kernel's clock, at most 10, and some
 * more. A change within it may leave the times as they were ("racy git").
 */
const RESOLUTION_MS = 50;

/**
 * The entries that the host knows, one at a time. Synchronous while some have arrived: a wait for
 * each of many thousands would take as long as their metadata.
 */
class KnownEntries {
  /** Of the current entry; undefined at the end. */
  path: string | undefined = '';
  version = '';
  number = -1;
  readonly #body: AsyncIterator<Buffer>;
  readonly #decoder = new StringDecoder('utf8');
  /** Paths and versions in turn. */
  #texts: string[] = [];
  #at = 0;
  #rest = '';

  constructor(body: AsyncIterable<Buffer>) {
    this.#body = body[Symbol.asyncIterator]();
  }

  /** False if more must arrive first, by `next`. */
  step(): boolean {
    const [path, version] = [this.#texts[this.#at], this.#texts[this.#at + 1]];
    if (path === undefined || version === undefined) return false;
    this.path = path;
    this.version = version;
    this.number += 1;
    this.#at += 2;
    return true;
  }

  /** @throws PortholeError `invalid_request` */
  async next(): Promise<void> {
    while (!this.step()) {
      const { value, done } = await this.#body.next();
      if (done === true) {
        if (this.#rest !== '' || this.#at < this.#texts.length) {
          throw invalid('The known entries are cut off: each is a path and a version.');
        }
        this.path = undefined;
        return;
      }
      const texts = (this.#rest + this.#decoder.write(value)).split('\0');
      this.#rest = texts.pop() ?? '';
      if (this.#rest.length > MAX_TREE_PATH) throw invalid('A known entry has a path that is too long.');
      this.#texts = [...this.#texts.slice(this.#at), ...texts];
      this.#at = 0;
    }
  }
}

/** Whether the last walk took longer than processes may be stopped: it would be in vain again. */
let isTooLong = false;

/**
 * All of the workspace, as frames of `protocol/guest/tree-protocol`: without the contents of known
 * entries, mount points, devices, sockets and partial files. A file that changes while it is read
 * contributes what was read, and counts as unsettled.
 * @param freezes whether other processes are stopped meanwhile, for a second at most
 * @throws PortholeError `invalid_request`, `workspace_archive_read_error`, also half-way
 */
export async function treeOut(
  workspace: Workspace,
  known: AsyncIterable<Buffer>,
  sink: Sink,
  freezes = false,
): Promise<void> {
  const { walker, calls } = await openFolder(workspace, '/workspace', false);
  const entries = new KnownEntries(known);
  let freeze: Freeze | undefined;
  const began = performance.now();
  try {
    await entries.next();
    // A process that serves a mounted bucket must not stop.
    if (freezes && !isTooLong && !workspace.hasMounts()) freeze = await Freeze.begin();
    await new TreeWriter(workspace, walker, calls, entries, sink).write();
  } catch (error) {
    if (error instanceof PortholeError) throw error;
    throw new PortholeError(
      'workspace_archive_read_error',
      `the workspace could not be read: ${reasonOf(error)}`,
      {
        cause: error,
      },
    );
  } finally {
    freeze?.end();
    isTooLong = performance.now() - began > FROZEN_MS;
    await walker.close();
  }
}

class TreeWriter {
  readonly #workspace: Workspace;
  readonly #walker: DirectoryWalker;
  readonly #calls: Calls;
  readonly #known: KnownEntries;
  readonly #buffer: DoubleBuffer;
  readonly #yielder = new Yielder();
  /** The first path of each file with several names, by device and inode. */
  readonly #linked = new Map<string, string>();
  #linkBytes = 0;
  readonly #end = { unreadable: 0, unsettled: 0 } satisfies TreeEnd;
  /** Later changes of entries that changed after this may not show in their times. */
  readonly #racyFrom = Date.now() - RESOLUTION_MS;
  #ranges: [from: number, to: number][] = [];

  constructor(workspace: Workspace, walker: DirectoryWalker, calls: Calls, known: KnownEntries, sink: Sink) {
    this.#workspace = workspace;
    this.#walker = walker;
    this.#calls = calls;
    this.#known = known;
    this.#buffer = new DoubleBuffer(sink);
  }

  async write(): Promise<void> {
    await this.#folder('');
    // The rest are gone; a body that is left unread would hold up its sender.
    while (this.#known.path !== undefined) await this.#known.next();
    await this.#flushRanges();
    await this.#frame(TREE.end, JSON.stringify(this.#end));
    await this.#buffer.end();
  }

  /** @param prefix of the current folder of the walk: `a/b/` */
  async #folder(prefix: string): Promise<void> {
    const { directory } = this.#walker;
    let names: string[];
    try {
      names = fs.readdirSync(at(directory, '.'), 'latin1').sort();
    } catch (error) {
      if (prefix === '' || !this.#isLeftOut(error)) throw error;
      return;
    }
    for (const name of names) {
      if (this.#yielder.isDue) await this.#yielder.pause();
      if (PARTIAL.test(name)) continue;
      const path = prefix + name;
      if (this.#isUnchanged(path, name, directory)) continue;
      if (path.length > MAX_TREE_PATH) this.#end.unreadable += 1;
      else {
        try {
          await this.#entry(path, name, directory);
        } catch (error) {
          if (!this.#isLeftOut(error)) throw error;
        }
      }
    }
  }

  /** The usual case of a file, without a wait. False in doubt. */
  #isUnchanged(path: string, name: string, directory: number): boolean {
    const known = this.#known;
    if (known.path !== path || this.#calls !== direct || this.#workspace.hasMounts()) return false;
    if (this.#ranges.length === MAX_KNOWN_RANGES) return false;
    const stat = statusOf(directory, name);
    if (stat === undefined || stat.isFolder || stat.nlink > 1) return false;
    if (versionOf(stat) !== known.version) return false;
    this.#addKnown(known.number);
    known.step();
    return true;
  }

  async #entry(path: string, name: string, directory: number): Promise<void> {
    if (this.#workspace.hasMounts() && this.#workspace.isMounted(this.#walker.names, name)) {
      // Reading a mount point may take seconds.
      return this.#send({ path, type: 'directory', mode: 0o755, mtime: 0, version: '' });
    }
    const stat = await this.#calls.lstat(at(directory, name));
    if (stat === undefined) return;
    const link = stat.nlink > 1 && !stat.isDirectory() ? this.#firstName(stat, path) : undefined;
    const isKnown = await this.#isKnown(path, versionOf(stat));
    const entry = this.#entryOf(path, stat);
    if (stat.isDirectory()) {
      if (!isKnown) await this.#send({ ...entry, type: 'directory' });
      await this.#walker.enter(name);
      await this.#folder(`${path}/`);
      await this.#walker.leave();
    } else if (isKnown) return;
    else if (link !== undefined) await this.#send({ ...entry, type: 'hardlink', link });
    else if (stat.isSymbolicLink()) {
      const target = await this.#calls.readlink(at(directory, name));
      await this.#send({ ...entry, type: 'symlink', link: target });
    } else if (stat.isFIFO()) await this.#send({ ...entry, type: 'fifo' });
    else if (stat.isFile()) await this.#file(path, at(directory, name));
  }

  #entryOf(path: string, stat: Stats): Omit<TreeEntry, 'type'> {
    const version = stat.ctimeMs < this.#racyFrom ? versionOf(stat) : '';
    return { path, mode: stat.mode & 0o7777, mtime: stat.mtimeMs / 1_000, version };
  }

  /** Undefined if this is the first. */
  #firstName({ dev, ino }: Stats, path: string): string | undefined {
    const key = `${dev}:${ino}`;
    const first = this.#linked.get(key);
    if (first === undefined && this.#linkBytes < MAX_LINK_BYTES) {
      this.#linkBytes += path.length;
      this.#linked.set(key, path);
    }
    return first;
  }

  async #isKnown(path: string, version: string): Promise<boolean> {
    const known = this.#known;
    if (known.path !== path) {
      const order = treeOrder(path);
      while (known.path !== undefined && treeOrder(known.path) < order) await known.next();
    }
    if (known.path !== path || known.version !== version) return false;
    if (this.#ranges.length === MAX_KNOWN_RANGES) await this.#flushRanges();
    this.#addKnown(known.number);
    return true;
  }

  #addKnown(number: number): void {
    const last = this.#ranges.at(-1);
    if (last?.[1] === number) last[1] = number + 1;
    else this.#ranges.push([number, number + 1]);
  }

  async #file(path: string, source: string | Buffer): Promise<void> {
    await this.#flushRanges();
    const descriptor = await this.#calls.open(source, READ);
    try {
      const stat = await this.#calls.fstat(descriptor);
      if (!stat.isFile()) return;
      // Its version follows its contents, because it may change until they are read.
      await this.#contents(descriptor, stat.size);
      const isSettled = versionOf(await this.#calls.fstat(descriptor)) === versionOf(stat);
      if (!isSettled) this.#end.unsettled += 1;
      const entry = this.#entryOf(path, stat);
      await this.#send({ ...entry, type: 'file', ...(!isSettled && { version: '' }) });
    } finally {
      await this.#calls.close(descriptor);
    }
  }

  async #contents(descriptor: number, size: number): Promise<void> {
    const buffer = this.#buffer;
    for (let position = 0; position < size; ) {
      const whole = size <= BUFFER_BYTES / 2 ? size : LEAST;
      await buffer.makeRoom(whole + FRAME_HEAD);
      const wanted = Math.min(buffer.left - FRAME_HEAD, size - position, MAX_TREE_CONTENTS);
      const into = buffer.used + FRAME_HEAD;
      const read =
        this.#calls === direct && size <= BUFFER_BYTES
          ? fs.readSync(descriptor, buffer.bytes, into, wanted, null)
          : (await readPooled(descriptor, buffer.bytes, into, wanted, null)).bytesRead;
      if (read === 0) return;
      frameHead(TREE.contents, read).copy(buffer.bytes, buffer.used);
      buffer.used = into + read;
      position += read;
    }
  }

  async #flushRanges(): Promise<void> {
    const ranges = this.#ranges;
    this.#ranges = [];
    if (ranges.length > 0) await this.#frame(TREE.known, JSON.stringify(ranges));
  }

  /** Entries stay in order: known ones before it are sent first. */
  async #send(entry: TreeEntry): Promise<void> {
    await this.#flushRanges();
    await this.#frame(TREE.entry, JSON.stringify(entry));
  }

  async #frame(type: number, text: string): Promise<void> {
    const buffer = this.#buffer;
    const length = Buffer.byteLength(text);
    await buffer.makeRoom(length + FRAME_HEAD);
    frameHead(type, length).copy(buffer.bytes, buffer.used);
    buffer.bytes.write(text, buffer.used + FRAME_HEAD);
    buffer.used += length + FRAME_HEAD;
  }

  /** False if the failure ends the reading. An entry that has just disappeared is skipped. */
  #isLeftOut(error: unknown): boolean {
    const loss = lossOf(error);
    if (loss === 'unreadable') this.#end.unreadable += 1;
    return loss !== undefined;
  }
}

/** A change of content, mode or name changes the time of the inode (ctime). */
function versionOf({ size, ctimeMs, ino }: Pick<Stats, 'size' | 'ctimeMs' | 'ino'>): string {
  // Times are exact to 2^-12 ms in a double until the year 2248.
  return `${size.toString(36)}.${Math.round(ctimeMs * 4_096).toString(36)}.${ino.toString(36)}`;
}
