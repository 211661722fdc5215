import { posix } from 'node:path';
import { archiveError } from './archive-error.ts';
import { shown, type TarHeader } from './tar-header.ts';

/** Where links of a workspace may lead besides: programs and libraries of the image, which a virtual environment refers to. Nothing is written through a link all the same. */
const PROGRAMS = /^\/(?:usr|bin|sbin|lib|lib64|opt)\//;

/** Linux's own limits, in bytes. */
const MAX_NAME = 255;
const MAX_PATH = 4_096;

/**
 * What an archive makes below the workspace, entry by entry. Each must stay there: not by its name alone, but also by every link that an earlier entry makes on its way.
 */
export class ArchiveTree {
  readonly #kinds = new Map<string, TarHeader['type']>();
  readonly #folders = new Set<string>();

  /** Every folder that entries lie in, below the workspace, as Latin-1; none above its own parent. */
  get folders(): ReadonlySet<string> {
    return this.#folders;
  }

  /** @throws PortholeError `invalid_request` for an entry that leaves the workspace */
  add({ name, linkName, type }: TarHeader): void {
    const path = inside(name, name);
    const parents = parentsOf(path);
    for (const parent of parents) {
      if (this.#kinds.get(parent) === 'symlink') {
        throw archiveError(`${shown(name)} lies beyond the link ${shown(parent)}`);
      }
    }
    const before = this.#kinds.get(path);
    if (before !== undefined && before !== type && (before === 'symlink' || type === 'symlink')) {
      throw archiveError(`${shown(name)} is a link and something else besides`);
    }
    if (path === '' && type !== 'directory') throw archiveError(`${shown(name)} would replace the workspace`);
    if (type === 'symlink') checkTarget(name, path, linkName);
    if (type === 'hardlink') this.#checkHardLink(name, linkName);
    this.#kinds.set(path, type);
    for (const parent of parents) this.#folders.add(parent);
  }

  /** Only to a file of this very archive: any other may be anything. */
  #checkHardLink(name: string, linkName: string): void {
    const kind = this.#kinds.get(inside(linkName, name));
    if (kind === 'file' || kind === 'hardlink') return;
    throw archiveError(`${shown(name)} is a hard link to ${shown(linkName)}, which is no earlier file of it`);
  }
}

/** The path below the workspace that a name means; '' is the workspace itself. */
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

function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) parents.push(path.slice(0, at));
  return parents;
}

function checkTarget(name: string, path: string, target: string): void {
  if (target === '') throw archiveError(`${shown(name)} is a link to nothing`);
  const resolved = posix.resolve('/workspace', posix.dirname(path), target);
  if (resolved === '/workspace' || resolved.startsWith('/workspace/') || PROGRAMS.test(resolved)) return;
  throw archiveError(`${shown(name)} is a link to ${shown(target)}, which is outside /workspace`);
}
