import { PortholeError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Preview, PreviewPlane } from '../ports/preview-plane.ts';
import type { Records } from '../ports/records.ts';
import type { RunRecord } from '../ports/run-records.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { type Actor, previewKept } from '../rules/preview-events.ts';
import { slidingExpiry } from '../rules/preview-lifetime.ts';

export interface KeepPreviewAliveDeps {
  readonly plane: PreviewPlane;
  readonly records: Pick<Records, 'timeline'>;
  readonly clock: Clock;
  readonly preview: PreviewOptions;
}

/**
 * Moves the expiry one idle window on. The plane clamps to max-until and refuses a foreign run, in the same round trip.
 * @throws PortholeError `preview_not_enabled`, `preview_not_found`
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
  if (kept === undefined) {
    throw new PortholeError(
      'preview_not_found',
      'Preview not found for this run: start it again to get a live URL.',
    );
  }
  await records.timeline.append(run.id, previewKept(kept, by), clock.now());
  return kept;
}
