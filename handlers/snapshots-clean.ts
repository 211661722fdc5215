import { type CleaningReport, cleanSnapshots } from '#core/use-cases/editor/clean-snapshots.ts';
import type { Services } from './services.ts';

type CleaningServices = Pick<Services, 'records' | 'provider' | 'clock' | 'place' | 'editor' | 'log'>;

/** The scheduled function that removes the editor's snapshots whose time is over, with their files. Two at once do no harm. */
export async function cleanEditorSnapshots(
  services: CleaningServices,
  signal?: AbortSignal,
): Promise<CleaningReport> {
  const report = await cleanSnapshots(services, signal === undefined ? {} : { signal });
  if (report.snapshots > 0 || report.runs > 0 || report.oldRuns > 0)
    services.log.info(report, 'snapshots cleaned');
  else services.log.debug(report, 'snapshots cleaned');
  return report;
}
