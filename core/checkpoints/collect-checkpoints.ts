import type { CheckpointDeps } from './take-checkpoint.ts';
import { removeObjects } from './checkpoint-objects.ts';
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

type CollectDeps = Pick<CheckpointDeps, 'records' | 'store' | 'clock'>;

/** Removes the objects that no checkpoint needs. Safe to repeat, and to run twice at a time. */
export async function collectCheckpoints({ records, store, clock }: CollectDeps): Promise<number> {
  const before = new Date(clock.now().getTime() - UNFINISHED_AFTER);
  let count = 0;
  for (const family of await records.checkpoints.untidyFamilies(before)) {
    const garbage = garbageOf(await records.checkpoints.family(family), before);
    for (const checkpoint of garbage) await removeObjects(store, checkpoint);
    await records.checkpoints.remove(garbage.map(({ id }) => id));
    count += garbage.length;
  }
  return count;
}
