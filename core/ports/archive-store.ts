import type { Readable } from 'node:stream';

/**
 * Where archives of workspaces are kept. Whatever cannot be done is `archive_error`, and may be tried again.
 */
export interface ArchiveStore {
  /** Stores all of the content under the key, or nothing: it is there only once this resolves, and until then what was there before. Fails with what the content fails with, and when it is aborted. */
  put(key: string, content: Readable, signal?: AbortSignal): Promise<void>;
  /** The content, as it comes. @throws PortholeError `archive_not_found` */
  get(key: string): Promise<Readable>;
  /** Absent: does nothing. */
  remove(key: string): Promise<void>;
}
