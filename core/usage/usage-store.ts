import type { Owner } from '#base/clock-and-ids.ts';

export const USAGE_AMOUNTS = [
  'vcpuS',
  'memoryGibS',
  'diskGibS',
  'egressBytes',
  'previewBytes',
  'lookS',
] as const;

/** Seconds of CPUs, GiB seconds of memory and disk, bytes, and seconds of looks. */
export type UsageAmounts = Readonly<Record<(typeof USAGE_AMOUNTS)[number], number>>;

export const NO_USAGE: UsageAmounts = {
  vcpuS: 0,
  memoryGibS: 0,
  diskGibS: 0,
  egressBytes: 0,
  previewBytes: 0,
  lookS: 0,
};

/** What a counter of a sandbox has counted since its start. */
export interface UsageReading {
  readonly sandboxId: string;
  /** Names the counter: one that starts from zero has another name. */
  readonly source: string;
  readonly startedAt: Date;
  readonly at: Date;
  /** Never decrease. */
  readonly counted: Partial<UsageAmounts>;
  /** The counter has ended, and this is its last reading. */
  readonly isLast: boolean;
}

export const USAGE_GROUPS = ['sandbox', 'run', 'owner', 'org', 'day'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageFilter {
  /** Absent: of everyone. */
  readonly owner?: Owner | undefined;
  readonly user?: string | undefined;
  readonly org?: string | undefined;
  readonly sandboxId?: string | undefined;
  readonly runId?: string | undefined;
  /** Days in UTC, `YYYY-MM-DD`, both included. */
  readonly from: string;
  readonly to: string;
}

/** The sum of a group. Only the grouped names have values. */
export interface UsageSum extends UsageAmounts {
  readonly group: Readonly<Partial<Record<UsageGroup, string>>>;
  /** A counter was away, so that some usage may be missing or on another day. */
  readonly estimated: boolean;
}

export interface UsageRecords {
  /**
   * Adds what the counters have counted since their last reading, to the owner and the newest run
   * of the sandbox. Adding a reading again, or an older one, adds nothing.
   */
  add(readings: readonly UsageReading[]): Promise<void>;
  /**
   * Ordered by the groups.
   * @param overdue open counters without a reading since then are away
   */
  sum(
    by: readonly UsageGroup[],
    filter: UsageFilter,
    page: { readonly offset: number; readonly limit: number },
    overdue: Date,
  ): Promise<readonly UsageSum[]>;
  /** Removes days before that one; returns how many rows. */
  forget(before: string): Promise<number>;
}
