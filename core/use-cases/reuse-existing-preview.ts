import type { Clock } from '../ports/clock.ts';
import type { PreviewPlane } from '../ports/preview-plane.ts';
import type { Records } from '../ports/records.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { previewKept } from '../rules/preview-events.ts';
import { isPastMaximum, slidingExpiry } from '../rules/preview-lifetime.ts';
import type { PreviewStart, StartedPreview } from './start-preview.ts';

export interface ReuseExistingDeps {
  readonly records: Pick<Records, 'timeline'>;
  readonly plane: PreviewPlane;
  readonly clock: Clock;
  readonly preview: PreviewOptions;
}

/**
 * The live preview under the token, its expiry moved. Undefined where there is none, or its time has come, or somebody ends it meanwhile: unlike a start this never opens one.
 */
export async function reuseExistingPreview(
  { records, plane, clock, preview: options }: ReuseExistingDeps,
  { run, by }: PreviewStart,
  token: string,
  signal?: AbortSignal,
): Promise<StartedPreview | undefined> {
  const existing = await plane.find(token, signal);
  if (existing === undefined) return undefined;
  if (plane.hasUrls) {
    const now = clock.now();
    const isIdle = existing.expiresAt !== undefined && now >= existing.expiresAt;
    if (isIdle || isPastMaximum(existing, options, now)) return undefined;
    // Only what a start has confirmed can be moved.
    const expiry = slidingExpiry(now, existing.maxUntil, options);
    if ((await plane.touch(token, run.id, expiry, signal)) === undefined) return undefined;
  }
  const readiness = await plane.serves(existing, signal);
  // The last word: what is answered was live after everything else had been done.
  const found = await plane.find(token, signal);
  if (found?.uid !== existing.uid) return undefined;
  if (plane.hasUrls) await records.timeline.append(run.id, previewKept(found, by), clock.now());
  return { preview: found, readiness };
}
