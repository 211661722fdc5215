import { PortholeError } from '../errors.ts';
import type { Owner } from '../shared/clock-and-ids.ts';
import type { SandboxSize } from './sandbox-provider.ts';

/**
 * What somebody has: sandboxes that run or are being made, their CPUs and their memory; and the
 * disk of stopped ones as well.
 */
export interface Usage extends SandboxSize {
  readonly sandboxes: number;
}

/** What is counted one by one, each with a mechanism of its store: active runs, live previews. */
const COUNTED = {
  runs: { are: 'active runs', remedy: 'complete a run' },
  previews: { are: 'live previews', remedy: 'stop a preview' },
} as const;

export type Counted = keyof typeof COUNTED;

/** What one person may have at a time; undefined or null: any amount. */
export type Quota = {
  readonly [Dimension in keyof Usage | Counted]?: number | null | undefined;
};

export interface Quotas {
  /** Of whoever is not named. It does not bind the service key, which acts for everybody. */
  readonly default: Quota;
  /** By user, `service` and `local` among them. */
  readonly users: Readonly<Record<string, Quota>>;
}

/** Nobody is bound. */
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

/** What binds the owner. What a user's own entry does not say, the default does. */
export function quotaOf({ default: common, users }: Quotas, { user }: Owner): Quota {
  const own = Object.hasOwn(users, user) ? users[user] : undefined;
  if (user === 'service') return own ?? {};
  return { ...common, ...own };
}

/** Whether it limits sandboxes or what they use. */
export function binds(quota: Quota): boolean {
  return NAMES.some((name) => quota[name] != null);
}

/**
 * Whether `more` beside what is `used` keeps within the quota. What is not asked for more of may be
 * past it already.
 */
export function isWithin(quota: Quota, used: Usage, more: Usage): boolean {
  return NAMES.every((name) => {
    const most = quota[name];
    // In thousandths, because sums of decimals are not exact.
    return most == null || more[name] === 0 || Math.round((used[name] + more[name] - most) * 1_000) <= 0;
  });
}

/** What a person is told who would have too much: what each dimension holds, and what it may. */
export function quotaExceeded(quota: Quota, used: Usage, more: Usage): PortholeError {
  const bound = NAMES.filter((name) => quota[name] != null);
  const have = bound.map((name) => `${used[name]} of the ${quota[name]} ${DIMENSIONS[name]}`);
  const want = bound.map((name) => `${more[name]} ${more[name] === 1 ? ONE[name] : DIMENSIONS[name]}`);
  return new PortholeError(
    'quota_exceeded',
    `You have ${listed(have)} that you may have at a time, and this takes ${listed(want)} more: stop or delete a sandbox, or let an administrator raise PORTHOLE_QUOTAS.`,
  );
}

/** The error for one run or preview too many. */
export function countExceeded(what: Counted, most: number): PortholeError {
  const { are, remedy } = COUNTED[what];
  return new PortholeError(
    'quota_exceeded',
    `You have ${most} ${are}, which is your limit: ${remedy}, or ask an administrator to raise PORTHOLE_QUOTAS.`,
  );
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
