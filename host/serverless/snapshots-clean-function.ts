import type { CleaningReport } from '#core/use-cases/editor/clean-snapshots.ts';
import { cleanEditorSnapshots } from '#handlers/snapshots-clean.ts';
import type { OpenFunction } from './open-function.ts';
import { scheduledFunction } from './scheduled-function.ts';

/** A pass over the editor's snapshots for each event. */
export function snapshotsCleanFunction(
  open: () => Promise<OpenFunction>,
): (event?: unknown) => Promise<CleaningReport> {
  return scheduledFunction(open, (services) => cleanEditorSnapshots(services));
}
