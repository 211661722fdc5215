import type { Readable } from 'node:stream';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { Page, PageRequest } from '#base/reads.ts';

/**
 * Stores archives of workspaces, and objects of checkpoints. Every failure is `archive_error`, and
 * can be retried.
 */
export interface ArchiveStore {
  /**
   * Stores the content under the key, all or nothing: until this resolves, the key keeps its
   * earlier content. Rejects with the error of the content, and on abort.
   */
  put(key: string, content: Readable, signal?: AbortSignal): Promise<void>;
  /** The content, or a range in bytes, as a stream. @throws PortholeError `archive_not_found` */
  get(key: string, range?: { readonly from: number; readonly length: number }): Promise<Readable>;
  /** Does nothing if the key does not exist. */
  remove(key: string): Promise<void>;
}

/** The archived workspace of a destroyed sandbox. */
export interface ArchiveRecord {
  /** `arc_<sandbox id>_<generation>`: one for each sandbox that ever existed. */
  readonly id: string;
  readonly sandbox: Pick<SandboxRecord, 'id' | 'generation' | 'name' | 'image'>;
  readonly owner: Owner;
  /** Its key in the store. */
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** Entries that a tar cannot hold, e.g. devices. */
  readonly leftOut: number;
  readonly createdAt: Date;
}

export interface ArchiveRecords {
  /** Replaces an archive of the same id. */
  put(archive: ArchiveRecord): Promise<void>;
  get(id: string): Promise<ArchiveRecord | undefined>;
  /**
   * Newest first; of one owner, or of all owners when `owner` is undefined; of one sandbox id if
   * given.
   */
  list(owner: Owner | undefined, page: PageRequest, sandboxId?: string): Promise<Page<ArchiveRecord>>;
  /** Returns false if it does not exist. */
  remove(id: string): Promise<boolean>;
}
