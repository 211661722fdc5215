import type { Clock } from '../ports/clock.ts';
import type { PreviewPlane } from '../ports/preview-plane.ts';
import type { Records } from '../ports/records.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { previewKept } from '../rules/preview-events.ts';
import { isPastMaximum, slidingExpiry } from '../rules/preview-lifetime.ts';
import type { PreviewStart, StartedPreview } from './start-preview.ts';

export interface MeetStandingDeps {
  readonly records: Pick<Records, 'timeline'>;
  readonly plane: PreviewPlane;
  readonly clock: Clock;
  readonly preview: PreviewOptions;
}

/**
 * The live preview under the token, its expiry moved. Undefined where there is none, or its time has come, or somebody ends it meanwhile: unlike a start this never opens one.
 */
export async function meetStandingPreview(
  { records, plane, clock, preview: options }: MeetStandingDeps,
  { run, by }: PreviewStart,
  token: string,
  signal?: AbortSignal,
): Promise<StartedPreview | undefined> {
  const standing = await plane.find(token, signal);
  if (standing === undefined) return undefined;
  if (plane.hasUrls) {
    const now = clock.now();
    const isIdle = standing.expiresAt !== undefined && now >= standing.expiresAt;
    if (isIdle || isPastMaximum(standing, options, now)) return undefined;
    // Only what a start has confirmed can be moved.
    const expiry = slidingExpiry(now, standing.maxUntil, options);
    if ((await plane.touch(token, run.id, expiry, signal)) === undefined) return undefined;
  }
  const readiness = await plane.serves(standing, signal);
  // The last word: what is answered was live after everything else had been done.
  const found = await plane.find(token, signal);
  if (found?.uid !== standing.uid) return undefined;
  if (plane.hasUrls) await records.timeline.append(run.id, previewKept(found, by), clock.now());
  return { preview: found, readiness };
}
