import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import { hydrateWorkspace } from '../files/guest-files.ts';
import { persistWorkspace } from '../files/persist-workspace.ts';
import { runToEnd } from '../processes/collect-command.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { type Clock, type Owner, sameOwner } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { validatedTar } from '#base/tar/validate-tar.ts';
import type { ArchiveRecord, ArchiveStore } from './archive-store.ts';

export interface ArchiveSandboxDeps {
  readonly records: Pick<Records, 'sandboxes' | 'archives'>;
  /** For the purpose `archive`: it is no use of the sandbox, and places nothing in it. */
  readonly sandboxes: Pick<Sandboxes, 'inspect' | 'resume' | 'stop' | 'exec' | 'callGuest'>;
  readonly store: ArchiveStore;
  readonly clock: Clock;
  readonly installationId: string;
}

/** Applies to every file that the sandbox's user owns. */
const MAKE_READABLE = ['chmod', '-R', 'u+rwX', '--', '.'] as const;

/**
 * Stores the workspace of a stopped sandbox as a tar, and records it. A command reads the files, so
 * the sandbox runs meanwhile; on failure it is stopped again, and the next attempt starts over.
 * Idempotent after a crash at any point; concurrent calls store the same archive.
 * @throws PortholeError `archive_error`, `workspace_archive_read_error`, and what the provider
 * throws
 */
export async function archiveSandbox(
  deps: ArchiveSandboxDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<void> {
  const { records, sandboxes, store, clock, installationId } = deps;
  const { id: sandboxId, generation, name, image, owner, stoppedAt } = sandbox;
  const id = `arc_${sandboxId}_${generation}`;
  const known = await records.archives.get(id);
  // Archived after it was stopped: an earlier pass ended before it destroyed the sandbox.
  if (known !== undefined && stoppedAt !== null && known.createdAt >= stoppedAt) return;
  const createdAt = clock.now();
  const { state } = await sandboxes.inspect(sandboxId, signal);
  // The files of an absent sandbox are gone too.
  if (state === 'absent') return;
  try {
    if (state !== 'running') await sandboxes.resume(sandboxId, signal);
    // One file that its own user may not read would block archiving for ever. Nothing else runs in
    // the sandbox after this.
    await runToEnd(sandboxes, sandboxId, { argv: MAKE_READABLE }, signal);
    const { tar, leftOut: unreadable } = await persistWorkspace({ sandboxes }, sandboxId, {}, signal);
    let leftOut = 0;
    let size = 0;
    const content = counted(
      validatedTar(tar, (entries) => (leftOut = entries + unreadable())),
      (bytes) => (size += bytes),
    );
    const key = `${createHash('sha256').update(installationId).digest('hex').slice(0, 16)}/${sandboxId}-${generation}.tar`;
    await store.put(key, Readable.from(content), signal);
    await records.archives.put({
      id,
      sandbox: { id: sandboxId, generation, name, image },
      owner,
      key,
      size,
      leftOut,
      createdAt,
    });
  } catch (error) {
    const now = await records.sandboxes.get(sandboxId).catch(() => undefined);
    // A caller may have started the sandbox during the archive: do not stop it then.
    if (now?.desired === 'stopped') await sandboxes.stop(sandboxId).catch(() => undefined);
    throw error;
  }
}

async function* counted(
  source: AsyncIterable<Buffer>,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of source) {
    count(chunk.length);
    yield chunk;
  }
}

/**
 * The archive, if the owner owns it.
 * @throws PortholeError `archive_not_found`, also for others' archives
 */
export async function findArchive(
  { records }: { readonly records: Pick<Records, 'archives'> },
  owner: Owner,
  id: string,
): Promise<ArchiveRecord> {
  const archive = await records.archives.get(id);
  if (archive !== undefined && sameOwner(archive.owner, owner)) return archive;
  throw archiveNotFound(id);
}

export function archiveNotFound(id: string): PortholeError {
  return new PortholeError('archive_not_found', `There is no archive ${JSON.stringify(id.slice(0, 200))}`, {
    remedy: 'GET /api/archives lists yours.',
  });
}

/**
 * Unpacks an archive into a sandbox: all files, or none. Symbolic links stay links, wherever they
 * lead.
 * @throws PortholeError `archive_not_found`, `archive_error`, `invalid_request`,
 * `workspace_archive_write_error`, and what `exec` throws
 */
export async function restoreArchive(
  deps: {
    readonly sandboxes: Pick<Sandboxes, 'callGuest'>;
    readonly archives: { readonly store: Pick<ArchiveStore, 'get'> } | undefined;
  },
  archive: ArchiveRecord,
  sandboxId: string,
  signal?: AbortSignal,
): Promise<void> {
  const { sandboxes, archives } = deps;
  if (archives === undefined) throw archiveNotFound(archive.id);
  const content = await archives.store.get(archive.key);
  await hydrateWorkspace(sandboxes, sandboxId, content, 'folders', signal);
}
