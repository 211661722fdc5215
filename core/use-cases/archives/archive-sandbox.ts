import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ArchiveStore } from '../../ports/archive-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Records } from '../../ports/records.ts';
import type { SandboxRecord } from '../../ports/sandbox-records.ts';
import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { validatedTar } from '../validated-tar.ts';
import { runToEnd } from '../run-to-end.ts';
import { persistWorkspace } from '../persist-workspace.ts';

export interface ArchiveSandboxDeps {
  readonly records: Pick<Records, 'sandboxes' | 'archives'>;
  /** The bare one: to archive a sandbox is no use of it, and nothing is put into it. */
  readonly provider: Pick<SandboxProvider, 'inspect' | 'resume' | 'stop' | 'exec' | 'callGuest'>;
  readonly store: ArchiveStore;
  readonly clock: Clock;
  readonly place: string;
}

const MAKE_READABLE = 'chmod -R u+rwX -- "${WORKSPACE:-/workspace}"';

/**
 * Keeps the workspace of a stopped sandbox as a tar, and where it is. Files are read by a command, so the sandbox runs meanwhile; where that fails, it is stopped again, and the next one begins anew. May be repeated after a
 * crash anywhere; two at once keep the same.
 * @throws PortholeError `archive_error`, `workspace_archive_read_error`, and what the provider refuses
 */
export async function archiveSandbox(
  deps: ArchiveSandboxDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<void> {
  const { records, provider, store, clock, place } = deps;
  const { id: sandboxId, generation, name, image, owner, stoppedAt } = sandbox;
  const id = `arc_${sandboxId}_${generation}`;
  const known = await records.archives.get(id);
  // Kept since it was stopped: whoever did it was cut off before the sandbox was destroyed.
  if (known !== undefined && stoppedAt !== null && known.createdAt >= stoppedAt) return;
  const createdAt = clock.now();
  const { state } = await provider.inspect(sandboxId, signal);
  // Whatever took it has taken its files, too.
  if (state === 'absent') return;
  try {
    if (state !== 'running') await provider.resume(sandboxId, signal);
    // One file that its own user may not read would keep the sandbox for ever. It is the last that is done with it.
    await runToEnd(provider, sandboxId, { argv: ['sh', '-c', MAKE_READABLE], cwd: '/' }, signal);
    const { tar, leftOut: unreadable } = await persistWorkspace({ provider }, sandboxId, {}, signal);
    let leftOut = 0;
    let size = 0;
    const content = counted(
      validatedTar(tar, (entries) => (leftOut = entries + unreadable())),
      (bytes) => (size += bytes),
    );
    const key = `${createHash('sha256').update(place).digest('hex').slice(0, 16)}/${sandboxId}-${generation}.tar`;
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
    // Unless somebody wants it by now.
    if (now?.desired === 'stopped') await provider.stop(sandboxId).catch(() => undefined);
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
