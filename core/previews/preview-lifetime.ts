/** The two limits of a preview's lifetime: an idle timeout and a hard cap. */
interface LifetimeOptions {
  readonly idleTimeoutMinutes: number;
  readonly maxLifetimeHours: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The hard cap of a preview that starts at `startedAt`. */
export function maxUntil(startedAt: Date, options: Pick<LifetimeOptions, 'maxLifetimeHours'>): Date {
  return new Date(startedAt.getTime() + options.maxLifetimeHours * HOUR);
}

/** The expiry after activity at `now`: one idle window later, but never past `limit`. */
export function slidingExpiry(now: Date, limit: Date | undefined, options: LifetimeOptions): Date {
  return clampExpiry(new Date(now.getTime() + options.idleTimeoutMinutes * MINUTE), limit);
}

export function clampExpiry(wanted: Date, limit: Date | undefined): Date {
  return limit !== undefined && limit < wanted ? limit : wanted;
}

/**
 * Whether the maximum lifetime is over at `now`. Age counts from `createdAt`, which the store
 * wrote, so a forged or future max-until extends nothing. An unreadable max-until is undefined and
 * is ignored.
 */
export function isPastMaximum(
  preview: { readonly createdAt: Date; readonly maxUntil: Date | undefined },
  options: LifetimeOptions,
  now: Date,
): boolean {
  return (
    now >= maxUntil(preview.createdAt, options) || (preview.maxUntil !== undefined && now >= preview.maxUntil)
  );
}

/** The reaper's view of a preview. Unreadable times are undefined and are ignored. */
export interface ObservedPreview {
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly maxUntil: Date | undefined;
  /** Explicitly stopped: left behind by a crash, or by a start that raced with the stop. */
  readonly stopped: boolean;
  /** `unknown` (a failed lookup, a missing record) never ends a preview. */
  readonly sandbox: 'present' | 'destroyed' | 'unknown';
  readonly run: 'running' | 'completed' | 'unknown';
  /** Whether its zone is served no more. */
  readonly hasFormerZone: boolean;
}

export type PreviewDecision = 'stopped' | 'orphaned' | 'max_lifetime' | 'idle' | 'alive';

/** The decision at `now`, by precedence: stopped, orphaned, max_lifetime, idle, alive. */
export function previewDecision(
  preview: ObservedPreview,
  options: LifetimeOptions & { readonly keepAfterRun: boolean },
  now: Date,
): PreviewDecision {
  if (preview.stopped) return 'stopped';
  if (preview.sandbox === 'destroyed' || preview.hasFormerZone) return 'orphaned';
  if (!options.keepAfterRun && preview.run === 'completed') return 'orphaned';
  if (isPastMaximum(preview, options, now)) return 'max_lifetime';
  if (preview.expiresAt !== undefined && now >= preview.expiresAt) return 'idle';
  return 'alive';
}

const MINUTE_MS = 60_000;

/** One full pass in ten still ends orphans within ten minutes (`docs/performance.md`). */
const FULL_EVERY_MINUTES = 10;

/**
 * Whether the reaper's pass at `now` lists all previews, also those that a crash during a stop
 * left, and those with an ended sandbox or run. Other passes list only those that may be due.
 * Derived from the clock, because each pass may be a new process without memory of earlier passes.
 */
export function isFullPass(now: Date): boolean {
  return Math.floor(now.getTime() / MINUTE_MS) % FULL_EVERY_MINUTES === 0;
}
