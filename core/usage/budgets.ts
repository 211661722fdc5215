import type { Owner } from '#base/clock-and-ids.ts';
import { dayOf } from './usage-days.ts';
import type { UsageAmounts } from './usage-store.ts';

/** What may be used in a month; undefined or null: any amount. */
export interface Budget {
  readonly vcpuS?: number | null | undefined;
  readonly memoryGibS?: number | null | undefined;
  /** At the end of the budget: only an event, or no sandbox runs until the next month. */
  readonly atLimit: 'warn' | 'stop';
}

export interface Budgets {
  /** Of each user without an entry. */
  readonly default?: Budget | undefined;
  readonly users: Readonly<Record<string, Budget>>;
  /** Of all users of an organisation together. */
  readonly orgs: Readonly<Record<string, Budget>>;
}

/** Whom a budget limits. */
export type BudgetHolder = { readonly kind: 'user'; readonly owner: Owner } | OrgHolder;
interface OrgHolder {
  readonly kind: 'org';
  readonly org: string;
}

const NAMES = { vcpuS: 'vCPU seconds', memoryGibS: 'GiB seconds of memory' } as const;
/** The part of a budget from which there is a warning. */
const WARNS_FROM = 0.8;

/** The budgets that limit the owner. `service` acts for all users: it needs an entry. */
export function budgetsOf(
  { default: common, users, orgs }: Budgets,
  owner: Owner,
): readonly { readonly holder: BudgetHolder; readonly budget: Budget }[] {
  const { user, org } = owner;
  const own = Object.hasOwn(users, user) ? users[user] : user === 'service' ? undefined : common;
  const shared = Object.hasOwn(orgs, org) ? orgs[org] : undefined;
  return [
    ...(own === undefined ? [] : [{ holder: { kind: 'user', owner } as const, budget: own }]),
    ...(shared === undefined ? [] : [{ holder: { kind: 'org', org } as const, budget: shared }]),
  ];
}

export interface Spent {
  readonly state: 'within' | 'warning' | 'over';
  /** The most spent amount, such as `90 of 100 vCPU seconds`. */
  readonly words: string;
}

export function spentOf(budget: Budget, used: Pick<UsageAmounts, keyof typeof NAMES>): Spent {
  let most = { part: 0, words: '' };
  for (const name of ['vcpuS', 'memoryGibS'] as const) {
    const limit = budget[name];
    if (limit == null) continue;
    const part = limit === 0 ? 1 : used[name] / limit;
    const words = `${Math.round(used[name])} of ${limit} ${NAMES[name]}`;
    if (most.words === '' || part > most.part) most = { part, words };
  }
  const { part, words } = most;
  return { state: part >= 1 ? 'over' : part >= WARNS_FROM ? 'warning' : 'within', words };
}

/** The month in UTC of an instant, with its days, and the first of the next one. */
export function monthOf(now: Date): {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly next: string;
} {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const day = (months: number, date: number) => dayOf(new Date(Date.UTC(year, month + months, date)));
  const from = day(0, 1);
  return { name: from.slice(0, 7), from, to: day(1, 0), next: day(1, 1) };
}
