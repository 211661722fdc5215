import type { Tokens } from '../auth/authenticator.ts';
import { PortholeError } from '#base/errors.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { previewKept, previewStopped } from './preview-events.ts';
import type { Actor } from '../runs/timeline.ts';
import { findAsleep, type FindAsleepDeps } from './asleep-previews.ts';
import { isPastMaximum, slidingExpiry } from './preview-lifetime.ts';
import type { PreviewOptions } from './preview-limits.ts';
import type { Preview, PreviewPlane } from './preview-plane.ts';
import { tokenSha256 } from './preview-token.ts';

interface KeepPreviewAliveDeps {
  readonly plane: PreviewPlane;
  readonly records: Pick<Records, 'timeline' | 'previews' | 'sandboxes'>;
  readonly clock: Clock;
  readonly previewSettings: PreviewOptions;
}

/**
 * Extends the expiry by one idle window, and counts as use of the sandbox: a sandbox with an active
 * preview is not idle. The plane clamps to max-until and checks the run in the same round trip.
 * @throws PortholeError `preview_not_enabled`, `preview_not_found`, `preview_expired` past
 * max-until
 */
export async function keepPreviewAlive(
  { plane, records, clock, previewSettings: options }: KeepPreviewAliveDeps,
  { run, token, by }: { run: RunRecord; token: string; by?: Actor | undefined },
  signal?: AbortSignal,
): Promise<Preview> {
  if (!plane.hasUrls) {
    throw new PortholeError(
      'preview_not_enabled',
      'Gateway preview is not enabled: a loopback session needs no keepalive.',
      { remedy: 'Set Sandbox__Preview__Enabled=true for previews with a URL.' },
    );
  }
  const kept = await plane.touch(token, run.id, slidingExpiry(clock.now(), undefined, options), signal);
  const now = clock.now();
  if (kept === undefined) {
    const tombstone = await records.previews.tombstone(tokenSha256(token));
    if (tombstone?.reason === 'max_lifetime' && tombstone.runId === run.id) throw expired(options);
    throw new PortholeError('preview_not_found', 'Preview not found for this run', {
      remedy: 'start it again to get a live URL.',
    });
  }
  if (isPastMaximum(kept, options, now)) throw expired(options);
  const sandbox = await records.sandboxes.get(kept.sandboxId);
  if (sandbox !== undefined) await records.sandboxes.touch(sandbox, now);
  await records.timeline.append(run.id, previewKept(kept, by), now);
  return kept;
}

function expired({ maxLifetimeHours }: PreviewOptions): PortholeError {
  return new PortholeError(
    'preview_expired',
    `The preview has reached its maximum lifetime of ${maxLifetimeHours} hours and cannot be kept alive`,
    { remedy: 'start it again.' },
  );
}

/** The live previews of a run, oldest first. */
export async function listPreviews(
  { plane }: { readonly plane: PreviewPlane },
  run: RunRecord,
  signal?: AbortSignal,
): Promise<readonly Preview[]> {
  const live: Preview[] = [];
  for await (const preview of plane.list({ runId: run.id }, signal)) live.push(preview);
  return live.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || a.targetPort - b.targetPort);
}

export interface RevokePreviewDeps {
  readonly records: Records;
  readonly plane: PreviewPlane;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

interface Revocation {
  readonly run: RunRecord;
  readonly targetPort: number;
  /** @default the port's current token */
  readonly token?: string | undefined;
  /** The preview under the token, if the caller has already fetched it. */
  readonly existing?: Preview | undefined;
  readonly by?: Actor | undefined;
}

/**
 * Revokes a URL of the run's port for good, live or not: the given token, or the current one. The
 * generation and the tombstone are written before the deletion, so after a crash a retry or the
 * reaper completes it. For the same reason no signal aborts it halfway.
 */
export async function revokePreview(
  { records, plane, tokens, clock }: RevokePreviewDeps,
  { run, targetPort, token, existing, by }: Revocation,
): Promise<void> {
  const generation = await records.previews.generation(run.id, targetPort);
  const current = tokens.preview(run.tokenKid, run.id, targetPort, generation);
  const revoked = token ?? current;
  const tombstone = {
    tokenSha256: tokenSha256(revoked),
    runId: run.id,
    reason: 'stopped',
    at: clock.now(),
  } as const;
  if (revoked === current) {
    const ends = existing ?? (await plane.find(revoked));
    const events = ends === undefined ? [] : previewStopped(ends, by);
    await records.previews.end(run.id, targetPort, generation, tombstone, events);
  } else {
    await records.previews.bury([tombstone]);
  }
  // Fetched only now: the earlier preview may have been reaped and started again meanwhile. A start
  // that creates one after this read deletes it itself, because it checks the generation again.
  const live = await plane.find(revoked);
  if (live === undefined || !(await plane.close(live, { uid: live.uid }))) return;
  await records.timeline.append(run.id, previewStopped(live, by), tombstone.at);
}

export type StopPreviewDeps = RevokePreviewDeps & FindAsleepDeps;

/**
 * Stops a preview for good: its URL is revoked, and the next start of the port gets a new one.
 * @throws PortholeError `preview_not_found` when no preview of this run, live or asleep, has the
 * token
 */
export async function stopPreview(
  deps: StopPreviewDeps,
  { run, token, by }: { run: RunRecord; token: string; by?: Actor | undefined },
  signal?: AbortSignal,
): Promise<void> {
  const { plane, records, clock } = deps;
  const preview = await plane.find(token, signal);
  const asleep = preview === undefined ? await findAsleep(deps, { token }) : undefined;
  if (asleep?.runId === run.id) {
    await revokePreview(deps, { run, targetPort: asleep.targetPort, token, by });
    return;
  }
  if (preview === undefined || preview.runId !== run.id) {
    throw new PortholeError('preview_not_found', 'Preview not found for this run', {
      remedy: 'GET …/sandbox/port-forward lists the live ones.',
    });
  }
  if (plane.hasUrls) {
    await revokePreview(deps, { run, targetPort: preview.targetPort, token, existing: preview, by });
  } else if (await plane.close(preview, { uid: preview.uid }, signal)) {
    await records.timeline.append(run.id, previewStopped(preview, by), clock.now());
  }
}
