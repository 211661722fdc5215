import type { Owner } from './owner.ts';
import type { Page, PageRequest } from './page.ts';
import type { SandboxRecord } from './sandbox-records.ts';

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
  /** Newest first; of one owner, or of everybody when `owner` is undefined; of one sandbox id where it is named. */
  list(owner: Owner | undefined, page: PageRequest, sandboxId?: string): Promise<Page<ArchiveRecord>>;
  /** False where there is none. */
  remove(id: string): Promise<boolean>;
}
