/** The two bounds of a preview's life: a sliding idle window and a hard cap. */
export interface LifetimeOptions {
  readonly idleTimeoutMinutes: number;
  readonly maxLifetimeHours: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** When a preview that starts at `startedAt` ends whatever happens. */
export function maxUntil(startedAt: Date, options: LifetimeOptions): Date {
  return new Date(startedAt.getTime() + options.maxLifetimeHours * HOUR);
}

/** The expiry that activity at `now` earns: one idle window on, but never past `limit`. */
export function slidingExpiry(now: Date, limit: Date | undefined, options: LifetimeOptions): Date {
  return clampExpiry(new Date(now.getTime() + options.idleTimeoutMinutes * MINUTE), limit);
}

/** The earlier of the two. */
export function clampExpiry(wanted: Date, limit: Date | undefined): Date {
  return limit !== undefined && limit < wanted ? limit : wanted;
}

/**
 * Whether its longest life is over at `now`. Age counts from `createdAt`, which the store wrote, so a forged or future-dated max-until prolongs nothing;
 * one that cannot be read is undefined and constrains nothing.
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
