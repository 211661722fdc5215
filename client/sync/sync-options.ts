import type { SyncMemory } from '../node/sync-memory.ts';

export interface SyncOptions {
  /** Target folder in the sandbox, below /workspace. @default /workspace */
  readonly to?: string | undefined;
  /**
   * Lines in `.gitignore` syntax, after those of every `.gitignore` in the folder and of the
   * `.portholeignore` at its top. `.git` is excluded unless a line includes it.
   */
  readonly excludes?: readonly string[] | undefined;
  /**
   * Whether files that an earlier sync sent and that are gone here are deleted there. Other files
   * there stay. @default true
   */
  readonly delete?: boolean | undefined;
  /** Sends everything, regardless of earlier syncs. */
  readonly full?: boolean | undefined;
  /** Where earlier syncs are recorded. @default the user's cache */
  readonly memory?: SyncMemory | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface SyncResult {
  /** Files and links that were sent. */
  readonly sent: number;
  /** Files, links and folders that were removed. */
  readonly removed: number;
  /** Files and links that were up to date. */
  readonly unchanged: number;
  /** Folders that were scanned, relative, with `/`. */
  readonly folders: readonly string[];
  /** Bytes of the archives. */
  readonly bytes: number;
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}
