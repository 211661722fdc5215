import { NO_NETWORK } from '../network/network-policy.ts';
import type { Records } from '../shared/records.ts';
import type { SandboxRecord } from './sandbox-records.ts';
import { ORPHAN_OWNER } from './sandbox-owner.ts';
import { everyItem } from '../shared/reads.ts';
import { destroySandbox } from './end-sandbox.ts';
import type { MakeSandboxDeps } from './create-sandbox.ts';
import { stopSandbox } from './resume-sandbox.ts';

export interface CollectOrphansDeps
  extends Pick<MakeSandboxDeps, 'records' | 'provider' | 'clock' | 'place'> {
  /** Told of one that could not be looked after; the next pass tries again. */
  readonly failed: (sandboxId: string, error: unknown) => void;
}

export interface OrphanReport {
  /** Stopped, and kept for the retention: no record knew of them. */
  readonly adopted: number;
  /** Removed: their owners wanted them gone. */
  readonly removed: number;
}

/**
 * Looks after sandboxes that bear our mark and that no live record claims. A record is made before
 * its sandbox, and read here after the sandbox was seen: one without any is no creation under way,
 * but one whose record was lost. Its files may be the only ones: it is adopted as nobody's own,
 * stopped, and destroyed after the retention like others. One whose record says that it is
 * destroyed goes at once. Either way its id is taken in the records first, so that no number of
 * passes, and nobody who makes a sandbox of that id at this moment, is met.
 */
export async function collectOrphans(deps: CollectOrphansDeps, signal?: AbortSignal): Promise<OrphanReport> {
  const { records, provider, place, failed } = deps;
  const live = await liveIds(records, place, signal);
  const done = { adopted: 0, removed: 0 };
  for await (const id of provider.list(signal)) {
    if (live.has(id)) continue;
    signal?.throwIfAborted();
    try {
      const fate = await tend(deps, id);
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

async function tend(deps: CollectOrphansDeps, id: string): Promise<keyof OrphanReport | undefined> {
  const { records, clock } = deps;
  const known = await records.sandboxes.get(id);
  if (known !== undefined && !(known.desired === 'destroyed' && known.observed === 'destroyed'))
    return undefined;
  const taken = await take(deps, {
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
    place: deps.place,
    desired: known === undefined ? 'stopped' : 'destroyed',
    observed: 'running',
    createdAt: clock.now(),
  });
  if (taken === undefined) return undefined;
  if (known !== undefined) {
    // Another pass may have removed it between the look at it and this one's turn.
    const { state } = await deps.provider.inspect(id);
    await destroySandbox(deps, taken);
    return state === 'absent' ? undefined : 'removed';
  }
  await stopSandbox(deps, taken);
  return 'adopted';
}

/** Undefined where somebody else was quicker. */
async function take(
  { records }: CollectOrphansDeps,
  record: Parameters<Records['sandboxes']['create']>[0],
): Promise<SandboxRecord | undefined> {
  const generation = await records.sandboxes.create(record);
  if (generation === undefined) return undefined;
  return records.sandboxes.get(record.id);
}
