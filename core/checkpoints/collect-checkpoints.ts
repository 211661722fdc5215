import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { type ObjectStore, removeMemory, removeObjects } from './checkpoint-objects.ts';
import type { CheckpointRecord } from './checkpoint-store.ts';

/** A checkpoint that is still `creating` after this time, in ms, was interrupted. */
const UNFINISHED_AFTER = 6 * 3_600_000;

/**
 * Those of a family with objects that nothing needs. A checkpoint that is being made may use the
 * objects of any listed one, so nothing is removed meanwhile.
 */
export function garbageOf(family: readonly CheckpointRecord[], unfinishedBefore: Date): CheckpointRecord[] {
  const isAbandoned = ({ state, createdAt }: CheckpointRecord) =>
    state === 'creating' && createdAt < unfinishedBefore;
  if (family.some((one) => one.state === 'creating' && !isAbandoned(one))) return [];
  const needed = new Set<string | null>();
  for (const { id, state, baseId, packs } of family) {
    if (state !== 'ready') continue;
    for (const each of [id, baseId, ...Object.keys(packs)]) needed.add(each);
  }
  return family.filter(({ id, state }) => state !== 'ready' && !needed.has(id));
}

/** Automatic checkpoints of a sandbox that are kept. */
const KEPT_AUTOMATIC = 10;

/** Those to delete: unlabelled automatic ones but the last. @param checkpoints oldest first */
export function surplusOf(checkpoints: readonly CheckpointRecord[], kept = KEPT_AUTOMATIC): string[] {
  const automatic = checkpoints.filter(({ label, cause }) => label === null && cause !== 'manual');
  return automatic.slice(0, Math.max(0, automatic.length - kept)).map(({ id }) => id);
}

export interface CollectDeps {
  readonly records: Pick<Records, 'checkpoints'>;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/**
 * Removes the objects that no checkpoint needs. Safe to repeat, and to run twice at a time.
 * @param before those that are `creating` since before it were interrupted. @default six hours ago
 */
export async function collectCheckpoints(deps: CollectDeps, before = longAgo(deps)): Promise<void> {
  for (const family of await deps.records.checkpoints.untidyFamilies(before)) {
    await collectFamily(deps, family, before);
  }
}

/** Likewise for a sandbox and its forks. */
export async function collectFamily(
  deps: CollectDeps,
  family: string,
  before = longAgo(deps),
): Promise<void> {
  const { records, store } = deps;
  const all = await records.checkpoints.family(family);
  const garbage = garbageOf(all, before);
  for (const checkpoint of garbage) await removeObjects(store, checkpoint);
  await records.checkpoints.remove(garbage.map(({ id }) => id));
  // Others may need its files, and never its memory.
  for (const checkpoint of all) {
    if (checkpoint.state !== 'deleted' || checkpoint.memory === null || garbage.includes(checkpoint))
      continue;
    await removeMemory(store, checkpoint);
    await records.checkpoints.forgetMemory(checkpoint);
  }
}

function longAgo({ clock }: CollectDeps): Date {
  return new Date(clock.now().getTime() - UNFINISHED_AFTER);
}
