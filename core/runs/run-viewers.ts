import type { Person } from '../callers.ts';
import { type Clock, later } from '#base/clock-and-ids.ts';
import type { RunRecord } from './run-records.ts';

/** Who has a run open: people of its owner's organisation, by name. */
export interface ViewerRecords {
  /**
   * Records that the viewer has the run open. Does nothing if `most` other viewers were seen since
   * then.
   */
  add(
    runId: string,
    viewer: string,
    more: { readonly at: Date; readonly since: Date; readonly most: number },
  ): Promise<void>;
  /** Names of the viewers seen since then, sorted. */
  list(runId: string, since: Date): Promise<readonly string[]>;
  /** Deletes those who were last seen before; returns how many. */
  forget(before: Date): Promise<number>;
}

/** How long a viewer counts as present, in ms: two intervals of the console, and a slow request. */
const PRESENT_MS = 20_000;
/** Per run. */
const MAX_VIEWERS = 50;

interface Deps {
  readonly records: { readonly viewers: ViewerRecords };
  readonly clock: Clock;
}

/**
 * Names of the viewers that have the run open now. A private run records and returns none. The
 * caller may read the run.
 */
export async function listViewers(
  { records, clock }: Deps,
  run: Pick<RunRecord, 'id' | 'sharing'>,
): Promise<readonly string[]> {
  if (run.sharing === 'private') return [];
  return records.viewers.list(run.id, presentSince(clock));
}

/** Records that the person has the run open, unless from another organisation, as admins may be. */
export async function addViewer(
  { records, clock }: Deps,
  { user, org }: Person,
  run: Pick<RunRecord, 'id' | 'sharing' | 'owner'>,
): Promise<void> {
  if (run.sharing === 'private' || org !== run.owner.org) return;
  const more = { at: clock.now(), since: presentSince(clock), most: MAX_VIEWERS };
  await records.viewers.add(run.id, user, more);
}

/** Earlier viewers are no longer present. */
export function presentSince(clock: Clock): Date {
  return later(clock, -PRESENT_MS);
}
