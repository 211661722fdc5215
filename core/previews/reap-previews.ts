import type { Clock } from '#base/clock-and-ids.ts';
import type { Preview, PreviewPlane } from './preview-plane.ts';
import type { EndReason } from './preview-records.ts';
import type { Records } from '../records.ts';
import type { PreviewOptions } from './preview-limits.ts';
import { previewKept, previewReaped, previewStopped } from './preview-events.ts';
import { slidingExpiry, type PreviewDecision, previewDecision, isFullPass } from './preview-lifetime.ts';
import { tokenSha256 } from './preview-token.ts';

export interface ReapPreviewsDeps {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly clock: Clock;
  readonly previewSettings: PreviewOptions;
  /** Called after each preview that this pass ended. */
  readonly reaped?: (preview: Preview, decision: PreviewDecision) => void;
}

export interface ReapReport {
  /** Listed by this pass: all live previews, or those that may be due. */
  readonly seen: number;
  /** Idle by their expiry, but in use according to their sandbox: extended. */
  readonly kept: number;
  /** Deleted by this pass. */
  readonly reaped: number;
  /** Due, but extended (or deleted by another process) before our delete arrived. */
  readonly lost: number;
  /** Partial objects removed. */
  readonly swept: number;
}

/** Sandboxes to query concurrently for their last use. */
const ASKED_AT_ONCE = 32;
/** Previews per query for tombstones, sandboxes and runs. */
const BATCH = 500;
/** How long ended previews answer 410. */
const TOMBSTONE_HOURS = 24;
/** How long links that have expired, and who came, can still be listed. */
const ACCESS_DAYS = 30;
/** How long a name that was given back is its last owner's. */
const NAME_DAYS = 30;

const END_REASON: Record<Exclude<PreviewDecision, 'alive'>, EndReason> = {
  stopped: 'stopped',
  orphaned: 'orphaned',
  max_lifetime: 'max_lifetime',
  idle: 'expired',
};

/**
 * One pass over the previews: ends those that are due. Most passes list only previews that may have
 * expired; a full pass (`isFullPass`) also finds other causes. Idempotent and safe to run
 * concurrently: each delete has the version that was checked as a precondition, so a keepalive in
 * between wins. A failed delete does not block the others.
 * @throws AggregateError at the end of the pass, when some could not be deleted (the next pass
 * retries), or their events not recorded
 */
export async function reapPreviews(deps: ReapPreviewsDeps, signal?: AbortSignal): Promise<ReapReport> {
  const { plane, records, clock } = deps;
  const total = { seen: 0, kept: 0, reaped: 0, lost: 0 };
  const failures: unknown[] = [];
  let batch: Preview[] = [];
  const decide = async () => {
    const result = await reapBatch(deps, batch, signal);
    total.seen += batch.length;
    total.kept += result.kept;
    total.reaped += result.reaped;
    total.lost += result.lost;
    failures.push(...result.failures);
    batch = [];
  };
  const now = clock.now();
  for await (const preview of plane.list(isFullPass(now) ? {} : { dueBefore: now }, signal)) {
    batch.push(preview);
    if (batch.length === BATCH) await decide();
  }
  if (batch.length > 0) await decide();
  const swept = await plane.sweep(now, signal);
  await records.previewNames.forget(now, new Date(now.getTime() - NAME_DAYS * 86_400_000));
  await records.access.forget(new Date(now.getTime() - ACCESS_DAYS * 86_400_000));
  await records.previews.forget(new Date(now.getTime() - TOMBSTONE_HOURS * 3_600_000));
  if (failures.length > 0) {
    throw new AggregateError(
      failures,
      `${failures.length} expired previews could not be closed, or their events not be published`,
    );
  }
  return { ...total, swept };
}

interface Due {
  readonly preview: Preview;
  readonly decision: Exclude<PreviewDecision, 'alive'>;
  readonly hash: string;
}

async function reapBatch(
  deps: ReapPreviewsDeps,
  batch: readonly Preview[],
  signal: AbortSignal | undefined,
): Promise<{ kept: number; reaped: number; lost: number; failures: readonly unknown[] }> {
  const { plane, records, clock, previewSettings: options, reaped } = deps;
  const hashes = new Map(batch.map((preview) => [preview, tokenSha256(preview.token)]));
  const [stopped, destroyed, completed] = await Promise.all([
    records.previews.stoppedAmong([...hashes.values()]),
    records.sandboxes.destroyedAmong([...new Set(batch.map((preview) => preview.sandboxId))]),
    options.keepAfterRun
      ? new Set<string>()
      : records.runs.completedAmong([...new Set(batch.map((preview) => preview.runId))]),
  ]);
  const now = clock.now();
  const due: Due[] = [];
  for (const [preview, hash] of hashes) {
    const decision = previewDecision(
      {
        createdAt: preview.createdAt,
        expiresAt: preview.expiresAt,
        maxUntil: preview.maxUntil,
        stopped: stopped.has(hash),
        sandbox: destroyed.has(preview.sandboxId) ? 'destroyed' : 'unknown',
        run: completed.has(preview.runId) ? 'completed' : 'unknown',
        hasFormerZone: preview.hasFormerZone === true,
      },
      options,
      now,
    );
    // Loopback sessions do not expire, but one without a sandbox would occupy a slot until the host
    // ends.
    if (!plane.hasUrls && decision !== 'orphaned') continue;
    if (decision !== 'alive') due.push({ preview, decision, hash });
  }
  const { dead, kept, failures } = await withoutUsed(deps, due, signal);
  if (dead.length === 0) return { kept, reaped: 0, lost: 0, failures };
  // Tombstones first: only `stopped` ones are binding, so one for a preview that a keepalive then
  // extends is harmless.
  await records.previews.bury(
    dead.map(({ preview, decision, hash }) => ({
      tokenSha256: hash,
      runId: preview.runId,
      ...((decision === 'idle' || decision === 'max_lifetime') && { targetPort: preview.targetPort }),
      reason: END_REASON[decision],
      at: now,
    })),
  );
  const closed = await Promise.allSettled(
    dead.map(async ({ preview, decision }) => {
      // Stopping is final: a stopped preview is deleted even if it was touched since.
      const precondition =
        decision === 'stopped' ? { uid: preview.uid } : { uid: preview.uid, version: preview.version };
      const gone = await plane.close(preview, precondition, signal);
      if (!gone) return false;
      reaped?.(preview, decision);
      const event = decision === 'stopped' ? previewStopped(preview) : previewReaped(preview, decision);
      await records.timeline.append(preview.runId, event, now);
      return true;
    }),
  );
  const result = { kept, reaped: 0, lost: 0, failures: [...failures] };
  for (const close of closed) {
    if (close.status === 'rejected') result.failures.push(close.reason);
    else if (close.value) result.reaped += 1;
    else result.lost += 1;
  }
  return result;
}

/**
 * Filters out previews in use: traffic that does not pass this process extends no expiry, so the
 * sandbox of an idle preview is asked. If it does not answer, the preview ends.
 */
async function withoutUsed(
  deps: ReapPreviewsDeps,
  due: readonly Due[],
  signal: AbortSignal | undefined,
): Promise<{ dead: readonly Due[]; kept: number; failures: readonly unknown[] }> {
  if (deps.plane.seesTraffic) return { dead: due, kept: 0, failures: [] };
  const dead: Due[] = [];
  const failures: unknown[] = [];
  let kept = 0;
  const left = [...due];
  const ask = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      try {
        if (next.decision === 'idle' && (await keptByTraffic(deps, next.preview, signal))) kept += 1;
        else dead.push(next);
      } catch (error) {
        // In use, but its expiry was not extended: the next pass retries.
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask));
  return { dead, kept, failures };
}

/**
 * Extends a preview that was used within its idle window, as a keepalive at that time would have.
 */
async function keptByTraffic(
  { plane, records, clock, previewSettings: options }: ReapPreviewsDeps,
  preview: Preview,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const usedAt = await plane.lastUsed(preview, signal);
  if (usedAt === undefined) return false;
  const expiry = slidingExpiry(usedAt, preview.maxUntil, options);
  const now = clock.now();
  if (expiry <= now) return false;
  const kept = await plane.touch(preview.token, preview.runId, expiry, signal);
  if (kept === undefined) return false;
  const sandbox = await records.sandboxes.get(preview.sandboxId);
  if (sandbox !== undefined) await records.sandboxes.touch(sandbox, usedAt);
  await records.timeline.append(preview.runId, previewKept(kept, 'traffic'), now);
  return true;
}
