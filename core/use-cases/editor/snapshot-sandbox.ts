import type { Owner } from '../../ports/owner.ts';
import type { SandboxRecord } from '../../ports/sandbox-records.ts';
import { EDITOR_OWNER, sessionOf, tagsOf } from '../../rules/editor/editor-owner.ts';
import { NO_NETWORK } from '../../rules/network/network-policy.ts';
import { NO_QUOTAS } from '../../rules/quotas.ts';
import { createSandbox, type CreateSandboxDeps } from '../create-sandbox.ts';
import { readySandbox, type UseSandboxDeps } from '../use-sandbox.ts';

export type SnapshotSandboxDeps = CreateSandboxDeps & UseSandboxDeps;

/** The sandbox of a snapshot, ready for a command: the same one each time while it lasts, and another where it is lost. It is the service's own, so that nobody's quota binds it. */
export function snapshotSandbox(
  deps: SnapshotSandboxDeps,
  { id: snapshotId, owner }: { readonly id: string; readonly owner: Owner },
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  return createSandbox(
    { ...deps, quotas: NO_QUOTAS },
    { owner: EDITOR_OWNER, sessionKey: sessionOf(snapshotId), tags: tagsOf(owner), network: NO_NETWORK },
    (made) => Promise.resolve(made),
    signal,
    (known) => readySandbox(deps, known),
  );
}

/** The sandbox of a snapshot, if it has one. */
export async function existingSandbox(
  { records }: Pick<SnapshotSandboxDeps, 'records'>,
  snapshotId: string,
): Promise<SandboxRecord | undefined> {
  const { items } = await records.sandboxes.list(
    EDITOR_OWNER,
    { sessionKey: sessionOf(snapshotId) },
    { limit: 10 },
  );
  return items.find(({ desired }) => desired !== 'destroyed');
}
