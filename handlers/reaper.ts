import { endApprovals } from '#core/use-cases/end-approvals.ts';
import { type ReapReport, reapPreviews } from '#core/use-cases/reap-previews.ts';
import { tokenFingerprint } from '#core/rules/preview-token.ts';
import type { Services } from './services.ts';

type ReaperServices = Pick<Services, 'records' | 'plane' | 'clock' | 'preview' | 'log'>;

/** The scheduled function that ends previews and questions whose time has come. Runs every minute; two at once do no harm. */
export async function reap(services: ReaperServices, signal?: AbortSignal): Promise<ReapReport> {
  // Neither waits for the other to succeed.
  const [previews, approvals] = await Promise.allSettled([
    endPreviews(services, signal),
    endApprovals(services),
  ]);
  if (approvals.status === 'fulfilled' && approvals.value > 0)
    services.log.info({ timed_out: approvals.value }, 'approvals timed out');
  if (previews.status === 'rejected') throw previews.reason;
  if (approvals.status === 'rejected') throw approvals.reason;
  return previews.value;
}

async function endPreviews(services: ReaperServices, signal: AbortSignal | undefined): Promise<ReapReport> {
  const report = await reapPreviews(
    {
      ...services,
      reaped: (preview, decision) =>
        services.log.info(
          { run_id: preview.runId, preview: tokenFingerprint(preview.token), decision },
          'preview reaped',
        ),
    },
    signal,
  );
  if (report.reaped > 0 || report.swept > 0 || report.lost > 0) services.log.info(report, 'reaper pass');
  else services.log.debug(report, 'reaper pass');
  return report;
}
