import { closeSync, fstatSync, openSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { PortholeError } from '../../base/errors.ts';
import { belowWorkspace, resolveWorkspacePath } from '../../base/workspace-path.ts';
import { at } from './at-calls.ts';
import { type Calls, direct, errno, FOLDER, pooled, ignoring } from './descriptors.ts';

/** The same as Linux (path_resolution(7)). */
const MAX_LINKS = 40;

/** A name in an open folder, with all links resolved. Disposing it closes the folder. */
export interface Place extends Disposable {
  readonly directory: number;
  /** `.`: the folder itself. */
  readonly name: string;
  /** Path of the entry below the workspace, without links; bytes as Latin-1. */
  readonly names: readonly string[];
  /** Undefined: it does not exist. */
  readonly stat: Stats | undefined;
  readonly calls: Calls;
}

export interface WalkOptions {
  /** Whether a link at the end is followed or kept. @default follow */
  readonly last?: 'follow' | 'keep';
  /** Whether missing parent folders are created. @default false */
  readonly makesFolders?: boolean;
}

/** A path that does not resolve, without details about paths outside the workspace. */
export class WalkError extends Error {
  readonly why: 'missing' | 'in a file' | 'too many links';

  constructor(why: WalkError['why']) {
    super(why);
    this.why = why;
  }
}

/** How long the list of mounts is cached, in milliseconds. */
const MOUNTS_FOR_MS = 1_000;

/**
 * The workspace, and the part of it that a request may access. Walks paths by descriptor and
 * follows links in this code only, so a path cannot leave the workspace, whatever changes meanwhile
 * (TOCTOU).
 */
export class Workspace {
  readonly #root: string;
  readonly #parts: readonly string[];
  readonly #limits: readonly (readonly string[])[] | undefined;
  #mounts: ReadonlySet<string> = new Set();
  #mountsUntil = 0;

  /** @param limits absolute paths below /workspace; undefined: all of it */
  constructor(root: string, limits?: readonly string[]) {
    this.#root = realpathSync(root);
    const parts = (path: string) => path.split('/').filter((part) => part !== '');
    this.#parts = parts(Buffer.from(this.#root).toString('latin1'));
    this.#limits = limits?.map((path) => parts(bytesBelow(path)));
  }

  limitedTo(paths: readonly string[]): Workspace {
    return new Workspace(this.#root, paths);
  }

  /**
   * @param path as a caller wrote it
   * @throws WalkError, PortholeError `path_outside_workspace`, `forbidden`, `invalid_request`, or
   * the error of a system call
   */
  async walk(path: string, options: WalkOptions = {}): Promise<Place> {
    return this.walkBelow([], bytesBelow(path), options);
  }

  /** Starts at a folder of the workspace; `names` contain no link. */
  async walkBelow(
    start: readonly string[],
    below: string,
    { last = 'follow', makesFolders = false }: WalkOptions = {},
  ): Promise<Place> {
    const rest = below.split('/');
    const names: string[] = [...start];
    // Number of levels above the workspace while a link leads outside; undefined: inside.
    let above: number | undefined;
    let links = 0;
    let ofLink = 0;
    let directory = await this.#reopen(names);
    const go = async (to: readonly string[]) => {
      names.splice(0, names.length, ...to);
      closeSync(directory);
      directory = -1;
      directory = await this.#reopen(names);
    };
    const follow = (target: string) => {
      links += 1;
      if (links > MAX_LINKS) throw new WalkError('too many links');
      const parts = target.split('/');
      rest.unshift(...parts);
      ofLink += parts.length;
      if (target.startsWith('/')) above = 0;
    };
    try {
      for (;;) {
        if (above === this.#parts.length) {
          above = undefined;
          await go([]);
        }
        const part = rest.shift();
        if (part === undefined) break;
        const isOfLink = ofLink > 0;
        if (isOfLink) ofLink -= 1;
        if (part === '' || part === '.') continue;
        if (part === '..') {
          if (above !== undefined) above = Math.max(above - 1, 0);
          else if (names.length > 0) await go(names.slice(0, -1));
          else above = Math.max(this.#parts.length - 1, 0);
          continue;
        }
        if (above !== undefined) {
          if (part !== this.#parts[above]) throw outside();
          above += 1;
          continue;
        }
        const calls = this.#callsFor(names, part);
        const path = at(directory, part);
        if (rest.length === 0) {
          const stat = await calls.lstat(path);
          if (stat?.isSymbolicLink() === true && last === 'follow') {
            follow(await calls.readlink(path));
            continue;
          }
          this.check([...names, part]);
          return placeIn(directory, part, [...names, part], stat, calls);
        }
        let next: number | undefined;
        try {
          next = await calls.open(path, FOLDER);
        } catch (error) {
          const why = errno(error);
          if (why === 'ENOENT') {
            if (!makesFolders || isOfLink) throw new WalkError('missing');
            this.check([...names, part], true);
            await ignoring(['EEXIST'], () => calls.mkdir(path, 0o755));
            next = await calls.open(path, FOLDER);
          } else if (why !== 'ENOTDIR' && why !== 'ELOOP') throw error;
        }
        if (next === undefined) {
          const target = await ignoring(['EINVAL'], () => calls.readlink(path));
          if (target === undefined) throw new WalkError('in a file');
          follow(target);
          continue;
        }
        closeSync(directory);
        directory = next;
        names.push(part);
        this.check(names, true);
      }
      if (above !== undefined) throw outside();
      this.check(names);
      return placeIn(directory, '.', names, fstatSync(directory), this.#callsFor(names));
    } catch (error) {
      if (directory >= 0) closeSync(directory);
      throw error;
    }
  }

  /** Opens the workspace itself, whatever the limits. */
  open(): Promise<number> {
    return this.#reopen([]);
  }

  hasMounts(): boolean {
    const now = performance.now();
    if (now > this.#mountsUntil) {
      this.#mounts = mountsBelow(this.#root);
      this.#mountsUntil = now + MOUNTS_FOR_MS;
    }
    return this.#mounts.size > 0;
  }

  /** Whether a folder or one of its parents is a mount point. */
  isMounted(names: readonly string[], name?: string): boolean {
    if (!this.hasMounts()) return false;
    let path = '';
    for (const part of name === undefined ? names : [...names, name]) {
      path += `/${part}`;
      if (this.#mounts.has(path)) return true;
    }
    return false;
  }

  #callsFor(names: readonly string[], name?: string): Calls {
    return this.isMounted(names, name) ? pooled : direct;
  }

  async #reopen(names: readonly string[]): Promise<number> {
    let directory = openSync(this.#root, FOLDER);
    try {
      checkProc(directory);
      const walked: string[] = [];
      for (const name of names) {
        const next = await this.#callsFor(walked, name).open(at(directory, name), FOLDER);
        closeSync(directory);
        directory = next;
        walked.push(name);
      }
      return directory;
    } catch (error) {
      closeSync(directory);
      throw error;
    }
  }

  /**
   * @param onTheWay whether a parent of a path of the limits is allowed
   * @throws PortholeError `forbidden` for a path beyond the limits
   */
  check(names: readonly string[], onTheWay = false): void {
    const isAllowed = this.#limits?.some(
      (limit) => startsWith(names, limit) || (onTheWay && startsWith(limit, names)),
    );
    if (isAllowed !== false) return;
    throw new PortholeError('forbidden', 'path resolves to a location that this credential does not reach');
  }
}

function placeIn(
  directory: number,
  name: string,
  names: readonly string[],
  stat: Stats | undefined,
  calls: Calls,
): Place {
  return { directory, name, names, stat, calls, [Symbol.dispose]: () => closeSync(directory) };
}

function startsWith(names: readonly string[], start: readonly string[]): boolean {
  return start.length <= names.length && start.every((name, index) => names[index] === name);
}

/** A caller's path, relative to the workspace; bytes as Latin-1. */
function bytesBelow(path: string): string {
  return Buffer.from(belowWorkspace(resolveWorkspacePath(path, 'path'))).toString('latin1');
}

function outside(): PortholeError {
  return new PortholeError('path_outside_workspace', 'path must resolve to a location within /workspace');
}

let isProcChecked = false;

/** Access by descriptor requires /proc, and no other way is safe. */
function checkProc(directory: number): void {
  if (isProcChecked) return;
  const [{ dev, ino }, seen] = [
    fstatSync(directory),
    statSync(`/proc/self/fd/${directory}`, { throwIfNoEntry: false }),
  ];
  if (seen?.dev !== dev || seen.ino !== ino) {
    throw new PortholeError(
      'service_unavailable',
      'Files cannot be reached: /proc is not mounted in this sandbox. Mount it (type proc) and try again.',
    );
  }
  isProcChecked = true;
}

/** Mount points below a folder, as `/names`; bytes as Latin-1 (proc_pid_mountinfo(5)). */
function mountsBelow(root: string): ReadonlySet<string> {
  const above = root === '/' ? '' : Buffer.from(root).toString('latin1');
  const mounts = new Set<string>();
  for (const line of readFileSync('/proc/self/mountinfo', 'latin1').split('\n')) {
    const point = (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    if (point.startsWith(`${above}/`) && point.length > above.length + 1)
      mounts.add(point.slice(above.length));
  }
  return mounts;
}
