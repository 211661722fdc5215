import { endApprovals } from '#core/approvals/wait-for-approval.ts';
import { checkpointEdits } from '#core/checkpoints/automatic-checkpoints.ts';
import { collectCheckpoints } from '#core/checkpoints/collect-checkpoints.ts';
import { presentSince } from '#core/runs/run-viewers.ts';
import { keptSince } from '#core/pages/look-store.ts';
import { tokenFingerprint } from '#core/previews/preview-token.ts';
import { anchorHeads } from '#core/audit/anchor-heads.ts';
import { sealAudit } from '#core/audit/seal-audit.ts';
import { reconcileAttachment } from '#core/previews/attach-previews.ts';
import { reapPreviews, type ReapReport } from '#core/previews/reap-previews.ts';
import { collectOrphans, type OrphanReport } from '#core/sandboxes/collect-orphans.ts';
import { keepLifecycle, type LifecycleDeps, type LifecyclePass } from '#core/sandboxes/lifecycle-pass.ts';
import type { WarmPoolStats } from '#core/sandboxes/warm-pool.ts';
import { keepBudgets } from '#core/usage/keep-budgets.ts';
import { countUsage } from '#core/usage/count-usage.ts';
import { firstKeptDay } from '#core/usage/usage-days.ts';
import { automaticOf } from '../sandboxes/checkpoint-triggers.ts';
import { anySignal } from '#base/concurrency.ts';
import type { Services } from '../services.ts';

type LifecycleServices = Pick<
  Services,
  | 'records'
  | 'sandboxes'
  | 'guests'
  | 'traffic'
  | 'quotas'
  | 'plane'
  | 'previewSettings'
  | 'tokens'
  | 'clock'
  | 'installationId'
  | 'life'
  | 'collectsOrphans'
  | 'archives'
  | 'checkpoints'
  | 'ids'
  | 'log'
  | 'auditRetentionMs'
  | 'webhooks'
>;

export type LifecycleReport = LifecyclePass & OrphanReport;

/**
 * Scheduled function: stops idle sandboxes, destroys those stopped for too long, completes
 * operations cut off by a crash, and collects orphans. Runs every minute. Concurrent runs are safe.
 */
export async function runLifecyclePass(
  services: LifecycleServices,
  signal?: AbortSignal,
): Promise<LifecycleReport> {
  const { life: limits, collectsOrphans, archives, log } = services;
  const failed = (id: string, err: unknown) =>
    log.error({ err, sandbox_id: id }, 'sandbox not looked after: the next pass tries again');
  const controlled = { ...services, sandboxes: services.sandboxes.for('control'), failed };
  const reconcile: LifecycleDeps['reconcile'] = (sandbox, previews, limit) =>
    reconcileAttachment(controlled, sandbox, previews, limit);
  const done = await keepLifecycle({ ...controlled, limits, archive: archives?.keep, reconcile }, signal);
  const orphans = collectsOrphans ? await collectOrphans(controlled, signal) : NO_ORPHANS;
  await services.traffic.write();
  // Its guests and their network may be away; sandboxes do not wait for them.
  await countUsage(
    { ...controlled, failed: (id, err) => log.warn({ err, sandbox_id: id }, 'usage not counted') },
    services.installationId,
    signal,
  ).catch((err: unknown) => log.error({ err }, 'usage not counted: the next pass tries again'));
  await keepBudgets(controlled, services.quotas.budgets, signal).catch((err: unknown) =>
    log.error({ err }, 'budgets not kept: the next pass tries again'),
  );
  await sealAudit(services);
  await forgetOld(services);
  const automatic = automaticOf(services);
  if (automatic !== undefined) {
    await checkpointEdits(automatic, signal).catch((err: unknown) =>
      log.error({ err }, 'sandboxes with edits not found: the next pass tries again'),
    );
  }
  if (services.checkpoints !== undefined) {
    // Its bucket may be away; sandboxes do not wait for it.
    await collectCheckpoints({ ...services, ...services.checkpoints }).catch((err: unknown) =>
      log.error({ err }, 'objects of deleted checkpoints not removed: the next pass tries again'),
    );
  }
  await Promise.all([
    services.webhooks.pass(anySignal(signal, AbortSignal.timeout(DELIVERED_WITHIN_MS))),
    anchorHeads(services, anySignal(signal, AbortSignal.timeout(ANCHORED_WITHIN_MS))).catch((err: unknown) =>
      log.warn({ err }, 'signed heads of the audit not in the bucket: the next pass tries again'),
    ),
  ]);
  return logReport(log, 'lifecycle pass', { ...done, ...orphans });
}

/** Logs the report of a pass, quietly if all of `done` is 0. */
export function logReport<Report extends object>(
  log: Services['log'],
  message: string,
  report: Report,
  done: readonly number[] = Object.values(report),
): Report {
  log[done.some((count) => count > 0) ? 'info' : 'debug'](report, message);
  return report;
}

/** The rest waits for the next pass: it is due in a minute. In milliseconds. */
const DELIVERED_WITHIN_MS = 30_000;
const ANCHORED_WITHIN_MS = 10_000;
/** People see for 30 days what was delivered. */
const DELIVERIES_KEPT_MS = 30 * 86_400_000;

/** Retention of sandbox events, in milliseconds. Expired delegations and sessions have none. */
const EVENTS_KEPT_MS = 86_400_000;
const EXPIRED_KEPT_MS = 3_600_000;
/** People see for 30 days that a key has expired. */
const KEYS_KEPT_MS = 30 * 86_400_000;

async function forgetOld({
  records,
  clock,
  auditRetentionMs,
}: Pick<LifecycleServices, 'records' | 'clock' | 'auditRetentionMs'>): Promise<void> {
  const now = clock.now().getTime();
  await records.sandboxEvents.forget(new Date(now - EVENTS_KEPT_MS));
  await records.delegations.forget(new Date(now - EXPIRED_KEPT_MS));
  await records.looks.forget(keptSince(clock));
  await records.viewers.forget(presentSince(clock));
  await records.endedSessions.forget(new Date(now - EXPIRED_KEPT_MS));
  await records.apiKeys.forget(new Date(now - KEYS_KEPT_MS));
  await records.usage.forget(firstKeptDay(clock.now()));
  await records.webhooks.forget(new Date(now - DELIVERIES_KEPT_MS));
  await records.audit.forget(new Date(now - auditRetentionMs));
}

const NO_ORPHANS: OrphanReport = { adopted: 0, removed: 0 };

/**
 * Scheduled function: keeps the pool of sandboxes at its target size, if another component creates
 * them. Runs every minute. Concurrent runs are safe.
 */
export async function primePool(
  { pool }: Pick<Services, 'pool'>,
  signal?: AbortSignal,
): Promise<WarmPoolStats> {
  await pool.prime(signal);
  return pool.stats(signal);
}

type ReaperServices = Pick<Services, 'records' | 'plane' | 'clock' | 'previewSettings' | 'log'>;

/**
 * The scheduled function that ends expired previews and approvals. Runs every minute. Concurrent
 * runs are safe.
 */
export async function reap(services: ReaperServices, signal?: AbortSignal): Promise<ReapReport> {
  // Neither depends on the other's success.
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
  return logReport(services.log, 'reaper pass', report, [report.reaped, report.swept, report.lost]);
}
