import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { isAmongFirst, type Ranked } from '#core/previews/preview-limits.ts';

const ranked = fc.record({
  name: fc.integer({ min: 0, max: 500 }).map((number) => `preview-${number}`),
  createdAt: fc.integer({ min: 0, max: 5 }).map((second) => new Date(second * 1_000)),
});
const live = fc.uniqueArray(ranked, { selector: ({ name }) => name, maxLength: 30 });

describe('preview cap', () => {
  test('keeps exactly as many previews as the cap allows, for every observer', () => {
    fc.assert(
      fc.property(live, fc.integer({ min: 1, max: 10 }), (previews, cap) => {
        const staying = previews.filter((mine) => isAmongFirst(mine, previews, cap));
        expect(staying).toHaveLength(Math.min(cap, previews.length));
      }),
      { numRuns: 1_000 },
    );
  });

  test('keeps older previews before newer ones', () => {
    fc.assert(
      fc.property(live, fc.integer({ min: 1, max: 10 }), (previews, cap) => {
        const going = previews.filter((mine) => !isAmongFirst(mine, previews, cap));
        const staying = previews.filter((mine) => isAmongFirst(mine, previews, cap));
        for (const gone of going)
          for (const kept of staying)
            expect(kept.createdAt.getTime()).toBeLessThanOrEqual(gone.createdAt.getTime());
      }),
      { numRuns: 1_000 },
    );
  });

  test('gives the same result with and without the new preview in the list', () => {
    const at = (name: string, second: number): Ranked => ({ name, createdAt: new Date(second * 1_000) });
    const others = [at('a', 1), at('b', 2), at('c', 3)];
    expect(isAmongFirst(at('d', 4), others, 3)).toBe(false);
    expect(isAmongFirst(at('d', 4), [...others, at('d', 4)], 3)).toBe(false);
    expect(isAmongFirst(at('d', 0), others, 3)).toBe(true);
    expect(isAmongFirst(at('d', 4), others, 4)).toBe(true);
  });
});
