import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';

/** Debounce in milliseconds: editors write a file in several steps. */
const SETTLE_MS = 60;

/**
 * Calls `changed` after changes in a folder, one call at a time. Each folder has its own watch, so
 * excluded folders (node_modules) cost no watches.
 */
export class FolderWatch {
  readonly #root: string;
  readonly #changed: () => Promise<void>;
  readonly #watched = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  #isDirty = false;
  #isClosed = false;

  constructor(root: string, changed: () => Promise<void>) {
    this.#root = root;
    this.#changed = changed;
  }

  /** Watches these folders, relative to the root, and no others. */
  follow(folders: readonly string[]): void {
    // A sync that is running at the end would otherwise keep the process alive.
    if (this.#isClosed) return;
    const wanted = new Set(['', ...folders]);
    for (const [path, watcher] of this.#watched) if (!wanted.has(path)) this.#unwatch(path, watcher);
    for (const path of wanted) {
      if (this.#watched.has(path)) continue;
      try {
        const watcher = watch(join(this.#root, path), () => this.#wake());
        // A removed folder: its parent reports the change.
        watcher.on('error', () => this.#unwatch(path, watcher));
        this.#watched.set(path, watcher);
        // Covers files written before the watch began.
        this.#wake();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const [path, watcher] of this.#watched) this.#unwatch(path, watcher);
  }

  #unwatch(path: string, watcher: FSWatcher): void {
    watcher.close();
    this.#watched.delete(path);
  }

  #wake(): void {
    if (this.#isClosed) return;
    this.#isDirty = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#run(), SETTLE_MS);
  }

  /** `changed` never rejects. */
  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#isDirty) {
      this.#isDirty = false;
      await this.#changed();
    }
    this.#isRunning = false;
  }
}
