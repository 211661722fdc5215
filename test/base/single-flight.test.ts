import { describe, expect, test } from '@jest/globals';
import { singleFlight } from '#base/concurrency.ts';

describe('single-flight', () => {
  test('runs once for all concurrent callers, and again for a later one', async () => {
    const on = {};
    const begun: PromiseWithResolvers<number>[] = [];
    const work = () => {
      begun.push(Promise.withResolvers());
      return begun.at(-1)?.promise ?? Promise.reject(new Error('not begun'));
    };
    const all = Array.from({ length: 50 }, () => singleFlight(on, 'box', work));
    expect(begun).toHaveLength(1);
    begun[0]?.resolve(1);
    expect(new Set(await Promise.all(all))).toEqual(new Set([1]));
    const later = singleFlight(on, 'box', work);
    expect(begun).toHaveLength(2);
    begun[1]?.resolve(2);
    expect(await later).toBe(2);
  });

  test('runs separately for another key or another instance', async () => {
    const on = {};
    const results = [singleFlight(on, 'a', async () => 1), singleFlight(on, 'b', async () => 2)];
    expect(await Promise.all([...results, singleFlight({}, 'a', async () => 3)])).toEqual([1, 2, 3]);
  });

  test('lets one waiter retry after a failure, and reports each failure to the caller that started it', async () => {
    const on = {};
    let tries = 0;
    const work = async () => {
      tries += 1;
      await Promise.resolve();
      if (tries === 1) throw new Error('the first');
      return tries;
    };
    const [first, ...others] = Array.from({ length: 5 }, () => singleFlight(on, 'box', work));
    await expect(first).rejects.toThrow('the first');
    expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
  });
});
