import { NO_USAGE, USAGE_AMOUNTS, type UsageAmounts, type UsageReading } from './usage-store.ts';

const DAY_MS = 86_400_000;
/** Longest time that one difference is split over, in days. */
const MAX_DAYS = 31;
/** A difference over less time may be on the day after: it is too small to matter. */
const SHORT_MS = 600_000;

/** What the last reading of a counter said. */
export interface LastReading {
  readonly at: Date;
  readonly counted: UsageAmounts;
}

export interface UsageOfDay {
  readonly day: string;
  readonly amounts: UsageAmounts;
  /** The difference is split over days by their length. */
  readonly estimated: boolean;
}

/** The day of an instant in UTC, `YYYY-MM-DD`. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** 13 months: a month can be compared with that of the year before. */
export function firstKeptDay(now: Date): string {
  return dayOf(new Date(Date.UTC(now.getUTCFullYear() - 1, now.getUTCMonth() - 1, 1)));
}

/**
 * What a counter has counted since its last reading, by days; empty for an older reading. One of
 * an earlier time that has counted more is newer: the clock was set back.
 * @param since the sandbox was made then: a pod of the pool counts from before
 */
export function usageSince(
  last: LastReading | undefined,
  { startedAt, at, counted }: Pick<UsageReading, 'startedAt' | 'at' | 'counted'>,
  since: Date,
): readonly UsageOfDay[] {
  const before = last?.counted ?? NO_USAGE;
  const share = last === undefined ? shareSince(since, startedAt, at) : 1;
  const grown = amountsOf((name) => Math.max(0, (counted[name] ?? 0) - before[name]) * share);
  if (last !== undefined && at < last.at && USAGE_AMOUNTS.every((name) => grown[name] === 0)) return [];
  const began = Math.max(last?.at.getTime() ?? startedAt.getTime(), since.getTime());
  const parts = daysBetween(Math.min(began, at.getTime()), at.getTime());
  const isSteady = grown.diskGibS > 0 && grown.vcpuS === 0 && grown.memoryGibS === 0;
  const estimated = parts.length > 1 && at.getTime() - began > SHORT_MS && !isSteady;
  return parts.map(({ day, part }) => ({ day, estimated, amounts: amountsOf((name) => grown[name] * part) }));
}

/** The greatest of each amount: counters never decrease. */
export function countedSoFar(
  last: LastReading | undefined,
  { counted }: Pick<UsageReading, 'counted'>,
): UsageAmounts {
  return amountsOf((name) => Math.max(last?.counted[name] ?? 0, counted[name] ?? 0));
}

function amountsOf(amount: (name: keyof UsageAmounts) => number): UsageAmounts {
  return Object.fromEntries(USAGE_AMOUNTS.map((name) => [name, amount(name)])) as unknown as UsageAmounts;
}

function shareSince(since: Date, startedAt: Date, at: Date): number {
  const whole = at.getTime() - startedAt.getTime();
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, at.getTime() - since.getTime()) / whole);
}

function daysBetween(from: number, to: number): readonly { readonly day: string; readonly part: number }[] {
  const start = Math.max(from, to - MAX_DAYS * DAY_MS);
  if (start >= to) return [{ day: dayOf(new Date(to)), part: 1 }];
  const parts = [];
  for (let at = start; at < to; ) {
    const end = Math.min(to, (Math.floor(at / DAY_MS) + 1) * DAY_MS);
    parts.push({ day: dayOf(new Date(at)), part: (end - at) / (to - start) });
    at = end;
  }
  return parts;
}
