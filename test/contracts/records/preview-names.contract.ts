import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import { ALICE, aRun, aSandbox, BOB, minutes, NOON } from './samples.ts';

const SHOP = { zone: 'preview.test', name: 'shop' };
const PORT = { runId: 'run_1', targetPort: 3000 };
const OTHER = { runId: 'run_2', targetPort: 3000 };
const MOST = 3;

/** The contract of the records of names, `peer` being a second instance on the same database. */
export function previewNamesContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('names of previews', () => {
    let here: Records['previewNames'];
    let there: Records['previewNames'];
    beforeEach(() => {
      const { records, peer } = instances();
      [here, there] = [records.previewNames, peer.previewNames];
    });
    const claim = (names: Records['previewNames'], change: object = {}) =>
      names.claim({ ...SHOP, ...PORT, owner: ALICE, ...change }, NOON, MOST);

    test('belong to one port of a run, in each zone', async () => {
      expect(await here.find(SHOP)).toBeUndefined();
      expect(await claim(here)).toBe('claimed');
      expect(await claim(there)).toBe('claimed');
      expect([await there.find(SHOP), await there.of(PORT)]).toEqual([PORT, SHOP]);
      expect(await there.of(OTHER)).toBeUndefined();
      expect(await claim(there, OTHER)).toBe('taken');
      expect(await claim(there, { ...OTHER, owner: BOB })).toBe('taken');
      const elsewhere = { ...SHOP, zone: 'another.test' };
      expect(await claim(there, { ...OTHER, ...elsewhere, owner: BOB })).toBe('claimed');
      expect([await here.find(SHOP), await here.find(elsewhere)]).toEqual([PORT, OTHER]);
    });

    test('replace each other at a port', async () => {
      await claim(here);
      expect(await claim(here, { name: 'store' })).toBe('claimed');
      expect([await here.of(PORT), await here.find(SHOP)]).toEqual([{ ...SHOP, name: 'store' }, undefined]);
    });

    test('are only their last owner’s after they were given back, until they are forgotten', async () => {
      await claim(here);
      await here.release(PORT, minutes(1));
      await here.release(PORT, minutes(2));
      expect([await there.find(SHOP), await there.of(PORT)]).toEqual([undefined, undefined]);
      expect(await claim(there, { ...OTHER, owner: BOB })).toBe('taken');
      expect(await claim(there, { ...OTHER, owner: { ...ALICE, org: 'another' } })).toBe('taken');
      expect(await claim(there, OTHER)).toBe('claimed');
      await there.release(OTHER, minutes(3));
      expect(await here.forget(minutes(9), minutes(3))).toBe(0);
      expect(await here.forget(minutes(9), minutes(4))).toBe(1);
      expect(await claim(there, { ...OTHER, owner: BOB })).toBe('claimed');
    });

    test('are limited for each owner, those given back included', async () => {
      const names = ['one', 'two', 'three'];
      for (const name of names) expect(await claim(here, { name })).toBe('claimed');
      expect(await claim(here, { name: 'four' })).toBe('too_many');
      expect(await here.of(PORT)).toEqual({ ...SHOP, name: 'three' });
      expect(await claim(here, { name: 'one' })).toBe('claimed');
      expect(await claim(here, { name: 'four', owner: BOB, ...OTHER })).toBe('claimed');
    });

    test('go to one of many at once', async () => {
      const claims = await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          claim(at % 2 ? here : there, { runId: `run_${at}`, owner: { ...BOB, user: `user_${at}` } }),
        ),
      );
      expect(claims.toSorted()).toEqual(['claimed', ...Array<string>(11).fill('taken')]);
    });

    test('are released once the sandbox of their run is deleted', async () => {
      const { records } = instances();
      for (const id of ['kept', 'gone']) {
        await records.sandboxes.create(aSandbox(id));
        await records.runs.create(aRun(`run-${id}`, { sandboxId: id }));
        await claim(here, { name: id, runId: `run-${id}` });
      }
      await records.sandboxes.setDesired('gone', 'destroyed');
      expect(await there.forget(minutes(1), NOON)).toBe(0);
      const found = await Promise.all(['kept', 'gone'].map((name) => here.find({ ...SHOP, name })));
      expect(found).toEqual([{ runId: 'run-kept', targetPort: 3000 }, undefined]);
    });
  });
}
