import type { LifetimeOptions } from './preview-lifetime.ts';
import { isPastMaximum } from './preview-lifetime.ts';

/** What the reaper may know of a preview. Times that could not be read are undefined and constrain nothing. */
export interface ObservedPreview {
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly maxUntil: Date | undefined;
  /** It was stopped explicitly: a crash, or a start racing with the stop, left it behind. */
  readonly stopped: boolean;
  /** `unknown` (a look-up that failed, a record that is not there) never kills. */
  readonly sandbox: 'present' | 'destroyed' | 'unknown';
  readonly run: 'running' | 'completed' | 'unknown';
}

export type PreviewDecision = 'stopped' | 'orphaned' | 'max_lifetime' | 'idle' | 'alive';

/** What becomes of a preview at `now`: stopped > orphan > past its maximum > idle > alive. */
export function previewDecision(
  preview: ObservedPreview,
  options: LifetimeOptions & { readonly keepAfterRun: boolean },
  now: Date,
): PreviewDecision {
  if (preview.stopped) return 'stopped';
  if (preview.sandbox === 'destroyed') return 'orphaned';
  if (!options.keepAfterRun && preview.run === 'completed') return 'orphaned';
  if (isPastMaximum(preview, options, now)) return 'max_lifetime';
  if (preview.expiresAt !== undefined && now >= preview.expiresAt) return 'idle';
  return 'alive';
}
