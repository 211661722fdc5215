import type { EditorOptions } from '../../editor-options.ts';
import { CUT_OFF } from '../../rules/editor/overdue-run.ts';
import { destroySandbox } from '../destroy-sandbox.ts';
import { existingSandbox, type SnapshotSandboxDeps } from './snapshot-sandbox.ts';

export type CleanSnapshotsDeps = Pick<SnapshotSandboxDeps, 'records' | 'provider' | 'clock' | 'place'> & {
  readonly editor: Pick<EditorOptions, 'runRetentionMs'>;
  readonly log: { error(fields: object, message: string): void };
};

/** What one pass has done. */
export interface CleaningReport {
  /** Snapshots that were removed, with their sandboxes and files. */
  readonly snapshots: number;
  /** Runs that had been cut off, and count as failed now. */
  readonly runs: number;
  /** Runs of old that were removed. */
  readonly oldRuns: number;
}

/** Snapshots that one look finds, and removes before the next one. */
const BATCH = 50;
/** Snapshots that one pass removes; the next pass goes on. */
const MOST = 1_000;

/**
 * Removes snapshots that are over, with their sandboxes and so with all their files, and nothing else; their runs stay for `runRetentionMs`, and still say that they have expired. The sandbox goes first: a pass that is cut off between the two finds the
 * snapshot again. Any number of passes may run at once.
 * @param most how many at most
 */
export async function cleanSnapshots(
  deps: CleanSnapshotsDeps,
  { most = MOST, signal }: { readonly most?: number; readonly signal?: AbortSignal } = {},
): Promise<CleaningReport> {
  const { records, clock } = deps;
  const runs = await records.editor.failOverdue(clock.now(), CUT_OFF, MOST);
  let snapshots = 0;
  while (snapshots < most) {
    signal?.throwIfAborted();
    const now = clock.now();
    const batch = await records.editor.expiredSnapshots(now, Math.min(BATCH, most - snapshots));
    const cleared: string[] = [];
    for (const id of batch) if (await clearSandbox(deps, id)) cleared.push(id);
    if (cleared.length === 0) break;
    snapshots += await records.editor.removeSnapshots(cleared, now);
  }
  const before = new Date(clock.now().getTime() - deps.editor.runRetentionMs);
  const oldRuns = await records.editor.removeRuns(before, most);
  return { snapshots, runs, oldRuns };
}

/** False where it is there still: in another installation, or because it could not be destroyed. */
async function clearSandbox(deps: CleanSnapshotsDeps, snapshotId: string): Promise<boolean> {
  try {
    const sandbox = await existingSandbox(deps, snapshotId);
    if (sandbox === undefined) return true;
    if (sandbox.place !== deps.place) return false;
    await destroySandbox(deps, sandbox);
    return true;
  } catch (err) {
    deps.log.error({ err, snapshot_id: snapshotId }, 'snapshot not removed: the next pass tries again');
    return false;
  }
}
