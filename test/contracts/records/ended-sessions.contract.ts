import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import { minutes } from './samples.ts';

/**
 * The contract of a store of ended sessions, `peer` being a second instance on the same database.
 */
export function endedSessionsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('ended sessions', () => {
    let here: Records['endedSessions'];
    let there: Records['endedSessions'];
    beforeEach(() => {
      const { records, peer } = instances();
      [here, there] = [records.endedSessions, peer.endedSessions];
    });

    test('are known to every instance, and no other one is', async () => {
      await here.add('one', minutes(60));
      expect([await there.has('one'), await there.has('another'), await there.has('')]).toEqual([
        true,
        false,
        false,
      ]);
    });

    test('are ended once, by the first caller', async () => {
      await Promise.all([here.add('one', minutes(60)), there.add('one', minutes(60))]);
      expect(await there.has('one')).toBe(true);
    });

    test('are forgotten once they would have been over', async () => {
      await here.add('early', minutes(1));
      await here.add('late', minutes(3));
      expect(await there.forget(minutes(2))).toBe(1);
      expect([await here.has('early'), await here.has('late')]).toEqual([false, true]);
      expect(await there.forget(minutes(3))).toBe(0);
    });
  });
}
