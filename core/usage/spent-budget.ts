import { PortholeError } from '#base/errors.ts';
import type { Clock, Owner } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { isOfService } from '../sandboxes/sandbox-owner.ts';
import {
  type Budget,
  type BudgetHolder,
  type Budgets,
  budgetsOf,
  monthOf,
  type Spent,
  spentOf,
} from './budgets.ts';

export interface BudgetDeps {
  readonly records: Pick<Records, 'usage'>;
  readonly clock: Clock;
}

/** What the holder has used of the budget in this month. */
export async function spentBudget(
  { records, clock }: BudgetDeps,
  holder: BudgetHolder,
  budget: Budget,
): Promise<Spent> {
  const now = clock.now();
  const { from, to } = monthOf(now);
  const of = holder.kind === 'user' ? { owner: holder.owner } : { org: holder.org };
  const page = { offset: 0, limit: 1 };
  const [sum] = await records.usage.sum(['org'], { ...of, from, to }, page, now);
  return spentOf(budget, sum ?? { vcpuS: 0, memoryGibS: 0 });
}

/**
 * Before a sandbox of the owner starts. Usage is as new as the last pass, a minute at most.
 * @throws PortholeError `quota_exceeded` if a budget that stops is spent
 */
export async function requireBudget(
  deps: BudgetDeps,
  budgets: Budgets | undefined,
  owner: Owner,
): Promise<void> {
  if (budgets === undefined || isOfService({ owner })) return;
  for (const { holder, budget } of budgetsOf(budgets, owner)) {
    if (budget.atLimit !== 'stop') continue;
    const { state, words } = await spentBudget(deps, holder, budget);
    if (state !== 'over') continue;
    const { name, next } = monthOf(deps.clock.now());
    const who = holder.kind === 'user' ? 'You have' : `Your organisation ${holder.org} has`;
    throw new PortholeError('quota_exceeded', `${who} used ${words} of the budget for ${name}`, {
      remedy: `wait until ${next}, or let an administrator raise PORTHOLE_BUDGETS.`,
    });
  }
}
