import type { CleaningReport } from '#core/editor/tool-snapshots.ts';
import { cleanEditorSnapshots } from '#handlers/ops/scheduled.ts';
import type { OpenFunction } from './open-function.ts';
import { scheduledFunction } from './scheduled-function.ts';

/** A pass over the editor's snapshots for each event. */
export function snapshotsCleanFunction(
  open: () => Promise<OpenFunction>,
): (event?: unknown) => Promise<CleaningReport> {
  return scheduledFunction(open, (services) => cleanEditorSnapshots(services));
}
