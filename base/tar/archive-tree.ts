import { archiveError, shown, type TarHeader } from './tar-header.ts';

/** Linux's own limit, in bytes. */
const MAX_NAME = 255;
/** Linux takes 4,095 bytes; the rest is for where the archive is unpacked. */
const MAX_PATH = 4_000;
/** Linux's own limit of a symbolic link's target, in bytes. */
const MAX_TARGET = 4_095;
/**
 * All names of folders together, in bytes. A large project has some MiB of them; paths of thousands
 * of folders each would use up the host's memory.
 */
const MAX_FOLDER_BYTES = 8_388_608;

type Kind = 'file' | 'fifo' | 'symlink' | 'directory';

/**
 * What is remembered of an archive's entries. `all`: every path, so that two entries that
 * contradict each other are found. `folders`: folders and links, which is enough to write nothing
 * through a link; for large archives of our own.
 */
export type Remembered = 'all' | 'folders';

/**
 * What an archive makes, entry by entry. Each must stay below its folder: not by its name alone,
 * but also by every link that an earlier entry makes on its way. Symbolic links may lead anywhere,
 * because
 * nothing is written through one. And each entry must be possible, so that no archive fails
 * half-way.
 */
export class ArchiveTree {
  readonly #kinds = new Map<string, Kind>();
  readonly #remembers: Remembered;
  #folderBytes = 0;

  constructor(remembers: Remembered = 'all') {
    this.#remembers = remembers;
  }

  /**
   * @throws PortholeError `invalid_request` for an entry that leaves the workspace, or cannot be
   * beside another
   */
  add({ name, linkName, type }: TarHeader): void {
    if (type === 'character device' || type === 'block device')
      throw archiveError(`${shown(name)} is a ${type}`);
    const path = inside(name, name);
    if (path === '' && type !== 'directory') throw archiveError(`${shown(name)} would replace the workspace`);
    if (type !== 'directory' && /\/\.?$/.test(name))
      throw archiveError(`${shown(name)} is named like a directory`);
    this.#makeParents(path, name);
    if (type === 'symlink') checkTarget(name, linkName);
    if (type === 'hardlink') this.#checkHardLink(name, path, linkName);
    const kind = kindOf(type);
    const before = this.#kinds.get(path);
    if (before !== undefined && before !== kind) {
      throw archiveError(`${shown(name)} is a ${before} and a ${kind} at once`);
    }
    this.#keep(path, kind);
  }

  /**
   * Whether an entry that was added would stay in its folder, had it these names, which are often
   * the true ones cut short. A link of such a name is remembered: readers that know no pax make it.
   * @throws PortholeError `invalid_request`
   */
  check({ name, linkName, type }: TarHeader): void {
    const path = inside(name, name);
    if (this.#isBeyondLink(path)) throw archiveError(`${shown(name)} lies beyond a link`);
    if (type === 'symlink' && !this.#kinds.has(path)) this.#keep(path, type);
    if (type === 'hardlink' && linkName !== '') {
      const target = this.#kinds.get(inside(linkName, name));
      if (target !== undefined && target !== 'file')
        throw archiveError(`${shown(name)} is a hard link to a ${target}`);
    }
  }

  #isBeyondLink(path: string): boolean {
    for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
      if (this.#kinds.get(path.slice(0, end)) === 'symlink') return true;
    }
    return false;
  }

  /** From the nearest one up: what is known as a folder has folders above it only. */
  #makeParents(path: string, name: string): void {
    for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      const kind = this.#kinds.get(parent);
      if (kind === 'directory') return;
      if (kind !== undefined) throw archiveError(`${shown(name)} lies beyond the ${kind} ${shown(parent)}`);
      this.#keep(parent, 'directory');
    }
  }

  #keep(path: string, kind: Kind): void {
    if (kind === 'directory' && !this.#kinds.has(path)) this.#folderBytes += path.length;
    if (this.#folderBytes > MAX_FOLDER_BYTES) {
      throw archiveError(`its folders have more than ${MAX_FOLDER_BYTES} bytes of names`);
    }
    if (this.#remembers === 'all' || kind === 'directory' || kind === 'symlink') this.#kinds.set(path, kind);
  }

  /** Only to a file of the same archive: any other target is unknown. */
  #checkHardLink(name: string, path: string, linkName: string): void {
    const target = inside(linkName, name);
    const kind = this.#kinds.get(target);
    const isFile =
      this.#remembers === 'all' ? kind === 'file' : kind === undefined && !this.#isBeyondLink(target);
    if (isFile && target !== path && target !== '' && !linkName.endsWith('/')) return;
    throw archiveError(`${shown(name)} is a hard link to ${shown(linkName)}, which is no earlier file of it`);
  }
}

function kindOf(type: TarHeader['type']): Kind {
  return type === 'symlink' || type === 'directory' || type === 'fifo' ? type : 'file';
}

/** The path of a name relative to the workspace; '' is the workspace itself. */
function inside(name: string, of: string): string {
  if (name === '') throw archiveError('an entry has no name');
  if (name.startsWith('/')) throw archiveError(`${shown(of)} leads to ${shown(name)}, which is absolute`);
  if (name.length > MAX_PATH) throw archiveError(`${shown(of)} is longer than ${MAX_PATH} bytes`);
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw archiveError(`${shown(of)} leads to ${shown(name)}, which has ".." in it`);
  if (parts.some((part) => part.length > MAX_NAME)) {
    throw archiveError(`${shown(of)} has a part that is longer than ${MAX_NAME} bytes`);
  }
  return parts.join('/');
}

function checkTarget(name: string, target: string): void {
  if (target === '') throw archiveError(`${shown(name)} is a link to nothing`);
  if (target.length > MAX_TARGET)
    throw archiveError(`${shown(name)} is a link to more than ${MAX_TARGET} bytes`);
}
