import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Preview, PreviewPlane } from '../ports/preview-plane.ts';
import type { Records } from '../ports/records.ts';
import type { RunRecord } from '../ports/run-records.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { type Actor, previewKept } from '../rules/preview-events.ts';
import { isPastMaximum, slidingExpiry } from '../rules/preview-lifetime.ts';
import { tokenSha256 } from '../rules/preview-token.ts';

export interface KeepPreviewAliveDeps {
  readonly plane: PreviewPlane;
  readonly records: Pick<Records, 'timeline' | 'previews' | 'sandboxes'>;
  readonly clock: Clock;
  readonly preview: PreviewOptions;
}

/**
 * Moves the expiry one idle window on, and counts as use of the sandbox: one whose preview is kept
 * alive is not idle. The plane clamps to max-until and refuses a foreign
 * run, in the same round trip.
 * @throws PortholeError `preview_not_enabled`, `preview_not_found`, `preview_expired` past
 * max-until
 */
export async function keepPreviewAlive(
  { plane, records, clock, preview: options }: KeepPreviewAliveDeps,
  { run, token, by }: { run: RunRecord; token: string; by?: Actor | undefined },
  signal?: AbortSignal,
): Promise<Preview> {
  if (!plane.hasUrls) {
    throw new PortholeError(
      'preview_not_enabled',
      'Gateway preview is not enabled: a loopback session needs no keepalive. Set Sandbox__Preview__Enabled=true for previews with a URL.',
    );
  }
  const kept = await plane.touch(token, run.id, slidingExpiry(clock.now(), undefined, options), signal);
  const now = clock.now();
  if (kept === undefined) {
    const tombstone = await records.previews.tombstone(tokenSha256(token));
    if (tombstone?.reason === 'max_lifetime' && tombstone.runId === run.id) throw expired(options);
    throw new PortholeError(
      'preview_not_found',
      'Preview not found for this run: start it again to get a live URL.',
    );
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
    `The preview has reached its maximum lifetime of ${maxLifetimeHours} hours and cannot be kept alive: start it again.`,
  );
}
