import { type CleaningReport, cleanSnapshots } from '#core/editor/tool-snapshots.ts';
import { logReport } from '../ops/scheduled.ts';
import type { Services } from '../services.ts';

type CleaningServices = Pick<
  Services,
  'records' | 'sandboxes' | 'clock' | 'installationId' | 'editor' | 'featuresOff' | 'log'
>;

const NOTHING_CLEANED: CleaningReport = { snapshots: 0, runs: 0, oldRuns: 0 };

/**
 * The scheduled function that removes expired editor snapshots and their files. Concurrent runs are
 * safe.
 */
export async function cleanEditorSnapshots(
  services: CleaningServices,
  signal?: AbortSignal,
): Promise<CleaningReport> {
  const isOff = services.featuresOff.has('editor');
  const report = isOff ? NOTHING_CLEANED : await cleanSnapshots(services, { signal });
  return logReport(services.log, 'snapshots cleaned', report);
}
