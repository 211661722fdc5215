import { type Owner, sameOwner } from '#base/clock-and-ids.ts';
import { PortholeError } from '#base/errors.ts';
import type { Person } from '../callers.ts';
import type { Records } from '../records.ts';
import type { PreviewBlock } from './access-store.ts';
import { revokePreview, type RevokePreviewDeps } from './live-previews.ts';

/** @throws PortholeError `forbidden` for an owner who may have no previews */
export async function checkNotBlocked(
  { records }: { readonly records: Pick<Records, 'access'> },
  owner: Owner,
): Promise<void> {
  if ((await records.access.blockOf(owner)) === undefined) return;
  throw new PortholeError('forbidden', `An administrator has stopped the previews of ${owner.user}`, {
    remedy: 'ask your administrator why.',
  });
}

/**
 * Stops all previews of an owner for good, and refuses new ones. The block is stored first, and a
 * start checks it again once its preview exists: none that overtakes the list stays. After a
 * failure the call may be repeated.
 * @returns how many were stopped
 */
export async function blockPreviews(
  deps: RevokePreviewDeps,
  { owner, reason, by }: { readonly owner: Owner; readonly reason: string; readonly by: Person },
  signal?: AbortSignal,
): Promise<{ readonly block: PreviewBlock; readonly stopped: number }> {
  const { plane, records, clock } = deps;
  const block: PreviewBlock = { owner, reason, by: by.user, at: clock.now() };
  await records.access.putBlock(block);
  let stopped = 0;
  for await (const preview of plane.list({ owner: owner.user }, signal)) {
    const run = await records.runs.get(preview.runId);
    // Users of two organisations may have the same name.
    if (run === undefined || !sameOwner(run.owner, owner)) continue;
    await revokePreview(deps, {
      run,
      targetPort: preview.targetPort,
      token: preview.token,
      existing: preview,
      by: { by: 'admin', user: by.user },
    });
    stopped += 1;
  }
  return { block, stopped };
}
