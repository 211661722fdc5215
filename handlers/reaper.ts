import { type ReapReport, reapPreviews } from '#core/use-cases/reap-previews.ts';
import { tokenFingerprint } from '#core/rules/preview-token.ts';
import type { Services } from './services.ts';

/** The scheduled function that ends previews whose time has come. Runs every minute; two at once do no harm. */
export async function reap(
  services: Pick<Services, 'records' | 'plane' | 'clock' | 'preview' | 'log'>,
  signal?: AbortSignal,
): Promise<ReapReport> {
  const report = await reapPreviews(
    {
      ...services,
      reaped: (preview, verdict) =>
        services.log.info(
          { run_id: preview.runId, preview: tokenFingerprint(preview.token), verdict },
          'preview reaped',
        ),
    },
    signal,
  );
  if (report.reaped > 0 || report.swept > 0 || report.lost > 0) services.log.info(report, 'reaper pass');
  else services.log.debug(report, 'reaper pass');
  return report;
}
