import type { Owner } from '#base/clock-and-ids.ts';
import { withReason } from '../audit/present-cause.ts';
import type { Records } from '../records.ts';
import { stopSandbox } from '../sandboxes/resume-sandbox.ts';
import { isOfService } from '../sandboxes/sandbox-owner.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { type BudgetHolder, type Budgets, budgetsOf, monthOf, type Spent } from './budgets.ts';
import { type BudgetDeps, spentBudget } from './spent-budget.ts';

export interface KeepBudgetsDeps extends BudgetDeps {
  readonly records: Pick<Records, 'usage' | 'audit' | 'sandboxes' | 'capacity'>;
  readonly sandboxes: Pick<Sandboxes, 'stop' | 'suspend'>;
  readonly installationId: string;
  /** Called for each sandbox that could not be stopped; the next pass retries. */
  readonly failed: (sandboxId: string, error: unknown) => void;
}

/** Owners of one page. */
const AT_ONCE = 500;

/**
 * Puts into the audit which budgets are nearly or wholly spent, once a month each, and stops the
 * running sandboxes of spent ones that stop.
 */
export async function keepBudgets(
  deps: KeepBudgetsDeps,
  budgets: Budgets | undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (budgets === undefined) return;
  const known = new Map<string, Spent>();
  for await (const owner of ownersOfMonth(deps)) {
    signal?.throwIfAborted();
    if (isOfService({ owner })) continue;
    for (const { holder, budget } of budgetsOf(budgets, owner)) {
      const subject = subjectOf(holder);
      const spent = known.get(subject) ?? (await spentBudget(deps, holder, budget));
      if (!known.has(subject)) await publish(deps, holder, spent);
      known.set(subject, spent);
      if (spent.state === 'over' && budget.atLimit === 'stop') await stopAll(deps, owner);
    }
  }
}

async function* ownersOfMonth({ records, clock }: BudgetDeps): AsyncGenerator<Owner, void> {
  const now = clock.now();
  const { from, to } = monthOf(now);
  for (let offset = 0; ; offset += AT_ONCE) {
    const page = await records.usage.sum(['owner', 'org'], { from, to }, { offset, limit: AT_ONCE }, now);
    for (const { group } of page) yield { user: group.owner ?? '', org: group.org ?? '' };
    if (page.length < AT_ONCE) return;
  }
}

function subjectOf(holder: BudgetHolder): string {
  return holder.kind === 'user'
    ? `budget/user/${holder.owner.org}/${holder.owner.user}`
    : `budget/org/${holder.org}`;
}

const TYPES = { warning: 'budget.warned', over: 'budget.spent' } as const;

async function publish(
  { records, clock }: KeepBudgetsDeps,
  holder: BudgetHolder,
  { state, words }: Spent,
): Promise<void> {
  if (state === 'within') return;
  const { name } = monthOf(clock.now());
  const [type, subject] = [TYPES[state], `${subjectOf(holder)}/${name}`];
  const { rows } = await records.audit.read({ types: [type], subject }, { after: 0, limit: 1 });
  if (rows.length > 0) return;
  const owner = holder.kind === 'user' ? holder.owner : null;
  await withReason('budget', () =>
    records.audit.add([{ type, subject, owner, data: { month: name, used: words } }]),
  );
}

async function stopAll(deps: KeepBudgetsDeps, owner: Owner): Promise<void> {
  for (const sandbox of await deps.records.capacity.wantedBy(owner, deps.installationId)) {
    if (sandbox.observed !== 'running') continue;
    try {
      await withReason('budget', () => stopSandbox(deps, sandbox));
    } catch (error) {
      deps.failed(sandbox.id, error);
    }
  }
}
