import type { ArchiveStore } from '../../ports/archive-store.ts';
import type { ArchiveRecord } from '../../ports/archives.ts';
import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { hydrateWorkspace } from '../hydrate-workspace.ts';
import { archiveNotFound } from './find-archive.ts';

/**
 * Puts the files of an archive into a sandbox: all, or none. Symbolic links stay links, wherever
 * they lead.
 * @throws PortholeError `archive_not_found`, `archive_error`, `invalid_request`, `workspace_archive_write_error`, and what `exec` refuses
 */
export async function restoreArchive(
  {
    provider,
    archives,
  }: {
    readonly provider: Pick<SandboxProvider, 'exec' | 'callGuest'>;
    readonly archives: { readonly store: Pick<ArchiveStore, 'get'> } | undefined;
  },
  archive: ArchiveRecord,
  sandboxId: string,
  signal?: AbortSignal,
): Promise<void> {
  if (archives === undefined) throw archiveNotFound(archive.id);
  const content = await archives.store.get(archive.key);
  await hydrateWorkspace({ provider }, sandboxId, content, { remembers: 'folders' }, signal);
}
