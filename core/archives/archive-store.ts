import type { Readable } from 'node:stream';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Owner } from '../shared/clock-and-ids.ts';
import type { Page, PageRequest } from '../shared/reads.ts';

/**
 * Where archives of workspaces are kept. Whatever cannot be done is `archive_error`, and may be
 * tried again.
 */
export interface ArchiveStore {
  /**
   * Stores all of the content under the key, or nothing: it is there only once this resolves, and
   * until then what was there before. Fails with what the content fails with, and when it is
   * aborted.
   */
  put(key: string, content: Readable, signal?: AbortSignal): Promise<void>;
  /** The content, as it comes. @throws PortholeError `archive_not_found` */
  get(key: string): Promise<Readable>;
  /** Absent: does nothing. */
  remove(key: string): Promise<void>;
}

/** The workspace of a sandbox that is no more, as it was kept. */
export interface ArchiveRecord {
  /** `arc_<sandbox id>_<generation>`: one for each sandbox there ever was. */
  readonly id: string;
  readonly sandbox: Pick<SandboxRecord, 'id' | 'generation' | 'name' | 'image'>;
  readonly owner: Owner;
  /** Where it is in the store. */
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** Entries that no archive can hold, e.g. devices. */
  readonly leftOut: number;
  readonly createdAt: Date;
}

export interface ArchiveRecords {
  /** Replaces the one of that id. */
  put(archive: ArchiveRecord): Promise<void>;
  get(id: string): Promise<ArchiveRecord | undefined>;
  /**
   * Newest first; of one owner, or of everybody when `owner` is undefined; of one sandbox id where
   * it is named.
   */
  list(owner: Owner | undefined, page: PageRequest, sandboxId?: string): Promise<Page<ArchiveRecord>>;
  /** False where there is none. */
  remove(id: string): Promise<boolean>;
}

/**
 * The longest that keeping one workspace may take, in milliseconds: a server that hangs must not
 * hold up all others.
 */
export const ARCHIVED_WITHIN_MS = 30 * 60_000;
