import { NO_NETWORK } from '../network/network-policy.ts';
import type { Records } from '../records.ts';
import { ORPHAN_OWNER } from './sandbox-owner.ts';
import { everyItem } from '#base/reads.ts';
import { destroySandbox } from './end-sandbox.ts';
import type { MakeSandboxDeps } from './create-sandbox.ts';
import { stopSandbox } from './resume-sandbox.ts';

export interface CollectOrphansDeps
  extends Pick<MakeSandboxDeps, 'records' | 'sandboxes' | 'clock' | 'installationId'> {
  /** Called for each orphan that could not be collected; the next pass retries. */
  readonly failed: (sandboxId: string, error: unknown) => void;
}

export interface OrphanReport {
  /** Had no record: stopped, and kept for the retention. */
  readonly adopted: number;
  /** Number of orphans removed because their owners had deleted them. */
  readonly removed: number;
}

/**
 * Collects orphans: sandboxes with our mark and no live record. A record is written before its
 * sandbox is created, and read here after the sandbox was listed, so a sandbox without one is not
 * being created: its record was lost. Its files may be the only copy: it is adopted by
 * `ORPHAN_OWNER`, stopped, and destroyed after the retention. A sandbox with a destroyed record is
 * removed at once. Either way its id is reserved first, so that concurrent passes and creations do
 * not conflict.
 */
export async function collectOrphans(deps: CollectOrphansDeps, signal?: AbortSignal): Promise<OrphanReport> {
  const { records, sandboxes, installationId, failed } = deps;
  const live = await liveIds(records, installationId, signal);
  const done = { adopted: 0, removed: 0 };
  for await (const id of sandboxes.list(signal)) {
    if (live.has(id)) continue;
    signal?.throwIfAborted();
    try {
      const fate = await reconcileOrphan(deps, id);
      if (fate !== undefined) done[fate] += 1;
    } catch (error) {
      failed(id, error);
    }
  }
  return done;
}

async function liveIds(records: Records, place: string, signal?: AbortSignal): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  signal?.throwIfAborted();
  for await (const { id } of everyItem((page) => records.sandboxes.live(page, place))) {
    signal?.throwIfAborted();
    ids.add(id);
  }
  return ids;
}

async function reconcileOrphan(
  deps: CollectOrphansDeps,
  id: string,
): Promise<keyof OrphanReport | undefined> {
  const { records, clock } = deps;
  const known = await records.sandboxes.get(id);
  if (known !== undefined && !(known.desired === 'destroyed' && known.observed === 'destroyed'))
    return undefined;
  // Undefined if another process took the id first.
  const taken = await deps.records.sandboxes.create({
    ...(known ?? {
      id,
      owner: ORPHAN_OWNER,
      image: null,
      sessionKey: null,
      name: null,
      tags: {},
      resources: {},
      network: NO_NETWORK,
      env: {},
    }),
    place: deps.installationId,
    desired: known === undefined ? 'stopped' : 'destroyed',
    observed: 'running',
    createdAt: clock.now(),
  });
  if (taken === undefined) return undefined;
  if (known !== undefined) {
    // A concurrent pass may have removed it.
    const { state } = await deps.sandboxes.inspect(id);
    await destroySandbox(deps, taken);
    return state === 'absent' ? undefined : 'removed';
  }
  await stopSandbox(deps, taken);
  return 'adopted';
}
