import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import { minutes, NOON } from './samples.ts';

/** The contract of the viewers of runs, `peer` being a second instance on the same database. */
export function viewersContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('viewers of runs', () => {
    let here: Records['viewers'];
    let there: Records['viewers'];
    beforeEach(() => {
      const { records, peer } = instances();
      [here, there] = [records.viewers, peer.viewers];
    });
    const seen = (at: number, most = 9) => ({ at: minutes(at), since: NOON, most });

    test('are known to every instance, once each, until they were not seen for long enough', async () => {
      await here.add('run_1', 'bob', seen(1));
      await there.add('run_1', 'alice', seen(2));
      await there.add('run_1', 'bob', seen(3));
      await here.add('run_2', 'carol', seen(3));
      expect(await here.list('run_1', NOON)).toEqual(['alice', 'bob']);
      expect(await there.list('run_1', minutes(3))).toEqual(['bob']);
      expect(await there.list('run_1', minutes(4))).toEqual([]);
      expect(await there.list('run_2', NOON)).toEqual(['carol']);
    });

    test('are as many as a run may have, however many come at once', async () => {
      const come = (from: number) =>
        Array.from({ length: 12 }, (_, at) =>
          (at % 2 ? here : there).add('run_1', `user ${from + at}`, seen(1, 5)),
        );
      await Promise.all(come(0));
      const present = await here.list('run_1', NOON);
      expect(present).toHaveLength(5);
      await there.add('run_1', present[0] ?? '', seen(5, 5));
      expect(await here.list('run_1', minutes(5))).toEqual(present.slice(0, 1));
      // Those who were not seen any more leave their place.
      await here.add('run_1', 'late', { at: minutes(6), since: minutes(5), most: 5 });
      expect(await there.list('run_1', minutes(6))).toEqual(['late']);
    });

    test('are forgotten', async () => {
      await here.add('run_1', 'early', seen(1));
      await here.add('run_1', 'late', seen(3));
      expect(await there.forget(minutes(2))).toBe(1);
      expect(await here.list('run_1', NOON)).toEqual(['late']);
    });
  });
}
