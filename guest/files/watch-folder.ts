import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { resolveWorkspacePath } from '../../base/workspace-path.ts';
import { unlessAborted } from '../../base/concurrency.ts';
import type { WatchEvent } from '../../protocol/guest/files-protocol.ts';
import { at } from './at-calls.ts';
import { entriesIn, errno, Yielder } from './descriptors.ts';
import { openFolder, pathBelow, statOf } from './list-files.ts';
import { WalkError, type Workspace } from './workspace.ts';
import { PARTIAL } from './write-file.ts';

/** Folders per watch; inotify(7) needs kernel memory for each. */
const MAX_FOLDERS = 1_024;
/** Paths per batch: beyond it, the reader must list the folder again. */
const MAX_CHANGES = 4_096;
/** How long changes are batched, in milliseconds: an editor makes several per save. */
const GATHER_MS = 50;

export interface WatchedSubfolders {
  readonly recursive: boolean;
  /** Names of folders to leave unwatched, at any depth. */
  readonly skipped: ReadonlySet<string>;
}

/**
 * Changes in a folder, until `signal` aborts or the folder is gone. First comes `ready`: later
 * changes are reported. A path is `changed` with its current state, or `deleted`; several changes
 * of one path may be reported as one.
 * @param subfolders whether subfolders are watched, at most 1,024, and names of those that are not
 * @throws PortholeError as `openFolder` does
 */
export async function* watchFolder(
  workspace: Workspace,
  path: string,
  subfolders: WatchedSubfolders,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void, undefined> {
  const { folder, watcher } = await openWatcher(workspace, path, subfolders);
  try {
    yield { type: 'ready', path: folder };
    while (!signal.aborted) {
      await watcher.changed(signal);
      if (watcher.takeLimited()) yield { type: 'limited', path: folder };
      await pause(GATHER_MS, undefined, { signal });
      const changes = watcher.take();
      if (changes === undefined) yield { type: 'overflow', path: folder };
      for (const [below, isRenamed] of changes ?? []) {
        const event = await watcher.look(below, isRenamed);
        if (event !== undefined) yield event;
        if (below === '' && event?.type === 'deleted') return;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    watcher.close();
  }
}

/** @throws PortholeError as `openFolder` does */
export async function openWatcher(
  workspace: Workspace,
  path: string,
  subfolders: WatchedSubfolders,
): Promise<{ readonly folder: string; readonly watcher: FolderWatcher }> {
  const { walker, names } = await openFolder(workspace, path, false);
  await walker.close();
  const folder = resolveWorkspacePath(path, 'path');
  const watcher = new FolderWatcher(workspace, folder, names, subfolders);
  try {
    await watcher.add([]);
  } catch (error) {
    watcher.close();
    throw error;
  }
  return { folder, watcher };
}

export class FolderWatcher {
  readonly #workspace: Workspace;
  readonly #folder: string;
  /** Resolved path of the folder. */
  readonly #start: readonly string[];
  readonly #recursive: boolean;
  readonly #skipped: ReadonlySet<string>;
  /** By path below the start. */
  readonly #watchers = new Map<string, FSWatcher>();
  /** Changed paths; whether the name was created or removed. */
  #changes = new Map<string, boolean>();
  #isOverflown = false;
  #isLimited = false;
  #wasLimited = false;
  #wake: (() => void) | undefined;

  constructor(workspace: Workspace, folder: string, start: readonly string[], subfolders: WatchedSubfolders) {
    this.#workspace = workspace;
    this.#folder = folder;
    this.#start = start;
    this.#recursive = subfolders.recursive;
    this.#skipped = subfolders.skipped;
  }

  /**
   * Watches a folder and its subfolders. @param reports whether existing content counts as changed
   */
  async add(below: readonly string[], reports = false, yielder = new Yielder()): Promise<void> {
    const key = below.join('/');
    if (this.#watchers.has(key) || this.#skipped.has(below.at(-1) ?? '')) return;
    if (this.#watchers.size >= MAX_FOLDERS) {
      this.#isLimited = true;
      return;
    }
    try {
      await yielder.pause();
      using place = await this.#workspace.walkBelow([...this.#start, ...below], '.');
      // `/.`, because a folder reports events of itself under the last part of this path.
      const watcher = watch(at(place.directory, '.'), { encoding: 'latin1', persistent: false });
      watcher.on('change', (type, name) => this.#note(key, String(name), type === 'rename'));
      watcher.on('error', () => watcher.close());
      this.#watchers.set(key, watcher);
      if (!this.#recursive && !reports) return;
      const folders: string[] = [];
      for await (const entry of entriesIn(place.calls, at(place.directory, '.'))) {
        await yielder.pause();
        if (reports) this.#note(key, entry.name, false);
        if (!this.#recursive || !entry.isDirectory() || PARTIAL.test(entry.name)) continue;
        if (this.#workspace.isMounted([...this.#start, ...below], entry.name)) continue;
        // The last one sets that not all are watched.
        if (folders.length <= MAX_FOLDERS) folders.push(entry.name);
      }
      for (const name of folders) await this.add([...below, name], reports, yielder);
    } catch (error) {
      const why = errno(error);
      if (why === 'ENOSPC' || why === 'EMFILE' || why === 'ENFILE') this.#isLimited = true;
      // All other errors mean that the folder is gone or unreadable.
      else if (why === '' && !(error instanceof WalkError)) throw error;
    }
  }

  async changed(signal: AbortSignal): Promise<void> {
    if (this.#changes.size > 0 || this.#isOverflown || this.#isLimited !== this.#wasLimited) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await unlessAborted(promise, signal);
  }

  /** Undefined if there were too many. */
  take(): Map<string, boolean> | undefined {
    const taken = this.#changes;
    const isOverflown = this.#isOverflown;
    this.#changes = new Map();
    this.#isOverflown = false;
    return isOverflown ? undefined : taken;
  }

  /** True once, when some folders are no longer watched. */
  takeLimited(): boolean {
    if (this.#isLimited === this.#wasLimited) return false;
    this.#wasLimited = true;
    return true;
  }

  /** The current state of a path. */
  async look(below: string, isRenamed: boolean): Promise<WatchEvent | undefined> {
    const path = pathBelow(this.#folder, below === '' ? [] : below.split('/'));
    try {
      using place = await this.#workspace.walkBelow(this.#start, below, { last: 'keep' });
      if (place.stat === undefined) throw new WalkError('missing');
      if (place.stat.isDirectory() && isRenamed && below !== '' && this.#recursive) {
        this.#drop(below);
        await this.add(below.split('/'), true);
      }
      return below === '' ? undefined : { type: 'changed', path, stat: statOf(path, place.stat) };
    } catch (error) {
      if (!(error instanceof WalkError) && errno(error) === '') throw error;
      this.#drop(below);
      return { type: 'deleted', path };
    }
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #note(folder: string, name: string, isRenamed: boolean): void {
    if (PARTIAL.test(name)) return;
    const path = name === '.' ? folder : folder === '' ? name : `${folder}/${name}`;
    if (this.#changes.size >= MAX_CHANGES && !this.#changes.has(path)) this.#isOverflown = true;
    else this.#changes.set(path, isRenamed || this.#changes.get(path) === true);
    this.#wake?.();
  }

  /** Drops a folder that is gone or was replaced, with its subfolders. */
  #drop(below: string): void {
    for (const [path, watcher] of this.#watchers) {
      if (path !== below && !path.startsWith(`${below}/`)) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
  }
}
