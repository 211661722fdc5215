import { describe, expect, test } from '@jest/globals';
import { type Budget, type Budgets, budgetsOf, monthOf, spentOf } from '#core/usage/budgets.ts';

const budget = (vcpuS: number, rest: Partial<Budget> = {}): Budget => ({ vcpuS, atLimit: 'warn', ...rest });
const alice = { user: 'alice', org: 'acme' };

describe('budgets', () => {
  const budgets: Budgets = { default: budget(1), users: { bob: budget(2) }, orgs: { acme: budget(3) } };
  const limits = (owner: typeof alice, of = budgets) => budgetsOf(of, owner).map((each) => each.budget.vcpuS);

  test.each([
    ['the default and that of the org', alice, [1, 3]],
    ['the own instead of the default', { user: 'bob', org: 'acme' }, [2, 3]],
    ['no org that is not listed', { user: 'bob', org: 'other' }, [2]],
    ['no default for the service key', { user: 'service', org: 'service' }, []],
    ['no name that every object has', { user: 'toString', org: 'constructor' }, [1]],
  ])('limit by %s', (_, owner, expected) => {
    expect(limits(owner)).toEqual(expected);
  });

  test.each([
    [0, 'within'],
    [79.9, 'within'],
    [80, 'warning'],
    [99.9, 'warning'],
    [100, 'over'],
    [500, 'over'],
  ])('of 100 with %d used are %s', (vcpuS, state) => {
    expect(spentOf(budget(100), { vcpuS, memoryGibS: 0 }).state).toBe(state);
  });

  test('are spent with the first amount that is, and name it', () => {
    const both = budget(100, { memoryGibS: 10 });
    expect(spentOf(both, { vcpuS: 90, memoryGibS: 12 })).toEqual({
      state: 'over',
      words: '12 of 10 GiB seconds of memory',
    });
    expect(spentOf(budget(0), { vcpuS: 0, memoryGibS: 0 }).state).toBe('over');
    expect(spentOf({ atLimit: 'stop', vcpuS: null }, { vcpuS: 9, memoryGibS: 9 }).state).toBe('within');
  });

  test('begin with the month in UTC', () => {
    expect(monthOf(new Date('2026-12-31T23:59:59.999Z'))).toEqual({
      name: '2026-12',
      from: '2026-12-01',
      to: '2026-12-31',
      next: '2027-01-01',
    });
    expect(monthOf(new Date('2028-02-01T00:00:00.000Z')).to).toBe('2028-02-29');
  });
});
