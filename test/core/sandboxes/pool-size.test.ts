import { describe, expect, test } from '@jest/globals';
import { missingFromPool, tooManyInPool } from '#core/sandboxes/warm-pool.ts';

describe('pool size', () => {
  test.each([
    ['is filled up to its target', [2, 9, { warmTarget: 5, maxInstances: 0 }], 3],
    ['at its target lacks nothing', [5, 9, { warmTarget: 5, maxInstances: 0 }], 0],
    ['past its target lacks nothing', [6, 9, { warmTarget: 5, maxInstances: 0 }], 0],
    ['is filled as far as the limit allows', [2, 9, { warmTarget: 5, maxInstances: 10 }], 1],
    ['is left alone at the limit', [2, 10, { warmTarget: 5, maxInstances: 10 }], 0],
    ['is left alone past the limit', [2, 12, { warmTarget: 5, maxInstances: 10 }], 0],
  ] as const)('computes %s', (_title, [pool, total, bounds], missing) => {
    expect(missingFromPool(pool, total, bounds)).toBe(missing);
  });

  test.each([
    ['has nothing too much at its target', [9, { warmTarget: 3, maxInstances: 0 }], []],
    ['has its newest too much past its target', [9, { warmTarget: 1, maxInstances: 0 }], ['b', 'c']],
    ['makes room where the limit is passed', [9, { warmTarget: 3, maxInstances: 8 }], ['c']],
    ['gives up all it has and no more', [99, { warmTarget: 3, maxInstances: 8 }], ['a', 'b', 'c']],
    ['without a target is too much as a whole', [3, { warmTarget: 0, maxInstances: 0 }], ['a', 'b', 'c']],
  ] as const)('computes %s', (_title, [total, bounds], tooMany) => {
    expect(tooManyInPool(['a', 'b', 'c'], total, bounds)).toEqual(tooMany);
  });
});
