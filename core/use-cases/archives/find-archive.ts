import { type Caller, ownerOf } from '../../callers.ts';
import { PortholeError } from '../../errors.ts';
import type { ArchiveRecord } from '../../ports/archives.ts';
import type { Owner } from '../../ports/owner.ts';
import type { Records } from '../../ports/records.ts';

/** The archive, once it is certain that it is this owner's. @throws PortholeError `archive_not_found`; others' archives are nobody else's business */
export async function findArchive(
  { records }: { readonly records: Pick<Records, 'archives'> },
  owner: Owner,
  id: string,
): Promise<ArchiveRecord> {
  const archive = await records.archives.get(id);
  if (archive?.owner.user === owner.user && archive.owner.org === owner.org) return archive;
  throw archiveNotFound(id);
}

export function archiveNotFound(id: string): PortholeError {
  return new PortholeError(
    'archive_not_found',
    `There is no archive ${JSON.stringify(id.slice(0, 200))}: GET /api/archives lists yours.`,
  );
}

/** Whether somebody may delete an archive: its owner, and admins. */
export function mayDeleteArchive(caller: Caller, { owner }: ArchiveRecord): boolean {
  if (caller.kind !== 'person') return false;
  const { user, org } = ownerOf(caller);
  return caller.admin || (owner.user === user && owner.org === org);
}
