import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { createProbeTimes, type ProbeTimes } from '#adapters/kubernetes/previews/await-readiness.ts';

/**
 * One start on a gateway that programs a route after `delay`: when it is found ready, and by how
 * many probes.
 */
function start(times: ProbeTimes, delay: number): { lag: number; probes: number } {
  let probes = 0;
  let failedAt = 0;
  for (const at of times.schedule()) {
    probes += 1;
    if (at >= delay) {
      times.learn(at, failedAt);
      return { lag: at - delay, probes };
    }
    failedAt = at;
  }
  throw new Error('unreachable');
}

describe('the times of probes', () => {
  test('begin at once, double, and then lose at most a quarter of the wait', () => {
    const schedule = createProbeTimes().schedule();
    const first = Array.from({ length: 9 }, () => schedule.next().value);
    expect(first).toEqual([0, 10, 20, 40, 80, 160, 200, 250, 312.5]);
  });

  test.each([10, 100, 600, 2_000])(
    'lag by at most 30 ms or a tenth on a gateway that always takes %i ms, after at most 2 + log2(D / 10 ms) probes',
    (delay) => {
      const times = createProbeTimes();
      for (let warmUp = 0; warmUp < 5; warmUp += 1) start(times, delay);
      const starts = Array.from({ length: 200 }, () => start(times, delay));
      const byProbes = starts.map(({ probes }) => probes).sort((a, b) => a - b);
      expect(Math.max(...starts.map(({ lag }) => lag))).toBeLessThanOrEqual(Math.max(30, delay / 10));
      expect(byProbes[100]).toBeLessThanOrEqual(Math.floor(2 + Math.log2(delay / 10)));
    },
  );

  test('grow without end, whatever has been learnt', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 60_000, noNaN: true }), { maxLength: 20 }), (delays) => {
        const times = createProbeTimes();
        for (const delay of delays) start(times, delay);
        const schedule = times.schedule();
        const looks = Array.from({ length: 120 }, () => schedule.next().value);
        expect(looks.every((at, look) => look === 0 || at > (looks[look - 1] ?? 0))).toBe(true);
        expect(looks.at(-1)).toBeGreaterThan(60_000);
      }),
      { numRuns: 1_000 },
    );
  });

  test('are found again soon after a gateway has become faster, or slower', () => {
    const times = createProbeTimes();
    for (const delay of [2_000, 2_000, 50, 50]) start(times, delay);
    expect(start(times, 50).lag).toBeLessThanOrEqual(30);
    for (const delay of [900, 900]) start(times, delay);
    expect(start(times, 900).lag).toBeLessThanOrEqual(90);
  });
});
