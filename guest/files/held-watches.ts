import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HeldChange, HeldChanges } from '../../protocol/guest/files-protocol.ts';
import { listFiles } from './list-files.ts';
import { type FolderWatcher, openWatcher } from './watch-folder.ts';
import type { Workspace } from './workspace.ts';

/** Open at a time, for their kernel memory: one more ends the one that was unused longest. */
const MAX_HELD = 16;
/** Names that are remembered of each. */
const MAX_KNOWN = 10_000;
const MAX_DEPTH = 16;

interface HeldWatch {
  readonly folder: string;
  readonly watcher: FolderWatcher;
  /** Paths that exist: a change of another one is its creation. */
  readonly known: Set<string>;
}

/**
 * Watches for clients that ask now and then. Between two questions only the changed paths are held,
 * each once, and not more than a watch has in a batch.
 */
export class HeldWatches {
  /** The one that was unused longest is first. */
  readonly #held = new Map<string, HeldWatch>();

  /** @throws PortholeError as `openFolder` does */
  async start(workspace: Workspace, path: string, recursive: boolean): Promise<string> {
    const { folder, watcher } = await openWatcher(workspace, path, { recursive, skipped: new Set() });
    const known = new Set<string>();
    try {
      const options = { depth: recursive ? MAX_DEPTH : 1, most: MAX_KNOWN };
      for await (const entry of listFiles(workspace, path, options)) known.add(entry.path);
    } catch (error) {
      watcher.close();
      throw error;
    }
    const [oldest] = this.#held.keys();
    if (oldest !== undefined && this.#held.size >= MAX_HELD) this.stop(oldest);
    const id = randomUUID();
    this.#held.set(id, { folder, watcher, known });
    return id;
  }

  /** The changes since the last call. Undefined: there is no such watch. */
  async take(id: string): Promise<HeldChanges | undefined> {
    const held = this.#held.get(id);
    if (held === undefined) return undefined;
    this.#held.delete(id);
    this.#held.set(id, held);
    const { folder, watcher, known } = held;
    const events: HeldChange[] = [];
    let isComplete = true;
    for (let round = 0; round < MAX_DEPTH; round += 1) {
      // The kernel has noted what was done before this request: one poll reports it.
      await nextTurn();
      const changes = watcher.take();
      isComplete &&= changes !== undefined;
      // A folder that is new reports its content in the next round.
      if (changes?.size === 0) break;
      for (const [below, isRenamed] of changes ?? []) {
        const event = await watcher.look(below, isRenamed);
        if (event === undefined) continue;
        const isNew = event.type === 'changed' && !known.has(event.path);
        if (event.type === 'deleted') known.delete(event.path);
        else if (known.size < MAX_KNOWN) known.add(event.path);
        events.push({ ...event, is_new: isNew });
      }
    }
    return { folder, complete: isComplete && !watcher.takeLimited(), events };
  }

  /** False: there is no such watch. */
  stop(id: string): boolean {
    this.#held.get(id)?.watcher.close();
    return this.#held.delete(id);
  }
}
