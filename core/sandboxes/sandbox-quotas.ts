import { PortholeError } from '#base/errors.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { Budgets } from '../usage/budgets.ts';
import type { SandboxSize } from './sandbox-provider.ts';
import type { SandboxRecord } from './sandbox-records.ts';

/**
 * An owner's usage: sandboxes that run or are being created, with their CPUs and memory; disk
 * includes stopped ones.
 */
export interface Usage extends SandboxSize {
  readonly sandboxes: number;
}

/** Counted resources, each enforced by its own store: active runs, live previews. */
const COUNTED = {
  runs: { are: 'active runs', remedy: 'complete a run' },
  previews: { are: 'live previews', remedy: 'stop a preview' },
} as const;

export type Counted = keyof typeof COUNTED;

/** Limits of one person at a time; undefined or null: no limit. */
export type Quota = {
  readonly [Dimension in keyof Usage | Counted]?: number | null | undefined;
};

export interface Quotas {
  /** For users without an entry. It does not limit the service key, which acts for all users. */
  readonly default: Quota;
  /** By user, including `service` and `local`. */
  readonly users: Readonly<Record<string, Quota>>;
  /** What owners may use in a month. @default any amount */
  readonly budgets?: Budgets | undefined;
}

/** No limits. */
export const NO_QUOTAS: Quotas = { default: {}, users: {} };

/** The unit of each, as people read it. */
const DIMENSIONS = {
  sandboxes: 'sandboxes',
  cpu: 'CPUs',
  memoryMb: 'MiB of memory',
  diskMb: 'MiB of disk',
} as const satisfies Record<keyof Usage, string>;

const ONE: Readonly<Record<keyof Usage, string>> = { ...DIMENSIONS, sandboxes: 'sandbox', cpu: 'CPU' };

const NAMES = Object.keys(DIMENSIONS) as (keyof Usage)[];

/** The owner's quota: the user's own entry over the default. */
export function quotaOf({ default: common, users }: Quotas, { user }: Owner): Quota {
  const own = Object.hasOwn(users, user) ? users[user] : undefined;
  if (user === 'service') return own ?? {};
  return { ...common, ...own };
}

/** Whether the quota limits the number or the size of sandboxes. */
export function limitsSandboxes(quota: Quota): boolean {
  return NAMES.some((name) => quota[name] != null);
}

/**
 * Whether `used` plus `more` is within the quota. A dimension with no increase may already exceed
 * it.
 */
export function isWithin(quota: Quota, used: Usage, more: Usage): boolean {
  return NAMES.every((name) => {
    const most = quota[name];
    // In thousandths, because sums of decimals are not exact.
    return most == null || more[name] === 0 || Math.round((used[name] + more[name] - most) * 1_000) <= 0;
  });
}

/** What the owner has running, for the remedy. */
export type Running = Pick<SandboxRecord, 'id' | 'name' | 'lastActiveAt'>;

/** Sandboxes that the remedy names. */
const NAMED = 3;

/**
 * The error for a request over quota: states the usage and limit of each dimension, and names the
 * sandboxes that are unused for the longest.
 */
export function quotaExceeded(
  quota: Quota,
  used: Usage,
  more: Usage,
  running: readonly Running[] = [],
  now = new Date(),
): PortholeError {
  const bound = NAMES.filter((name) => quota[name] != null);
  const have = bound.map((name) => `${used[name]} of the ${quota[name]} ${DIMENSIONS[name]}`);
  const want = bound.map((name) => `${more[name]} ${more[name] === 1 ? ONE[name] : DIMENSIONS[name]}`);
  return new PortholeError(
    'quota_exceeded',
    `You have ${listed(have)} of your quota, and this takes ${listed(want)} more`,
    {
      remedy: `stop or delete a sandbox${examples(running, now)}, or let an administrator raise PORTHOLE_QUOTAS.`,
    },
  );
}

function examples(running: readonly Running[], now: Date): string {
  const oldest = running
    .toSorted((a, b) => a.lastActiveAt.getTime() - b.lastActiveAt.getTime())
    .slice(0, NAMED)
    .map(({ id, name, lastActiveAt }) => {
      const minutes = Math.max(0, Math.floor((now.getTime() - lastActiveAt.getTime()) / 60_000));
      const title = name === null ? '' : `${JSON.stringify(name)}, `;
      return `${id} (${title}${minutes === 0 ? 'used just now' : `unused for ${minutes} min`})`;
    });
  return oldest.length === 0 ? '' : `, such as ${listed(oldest)}`;
}

/** The error for one run or preview too many. */
export function countExceeded(what: Counted, most: number): PortholeError {
  const { are, remedy } = COUNTED[what];
  return new PortholeError('quota_exceeded', `You have ${most} ${are}, which is your limit`, {
    remedy: `${remedy}, or ask an administrator to raise PORTHOLE_QUOTAS.`,
  });
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
