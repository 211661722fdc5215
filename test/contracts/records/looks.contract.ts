import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Picture } from '#core/pages/page-browser.ts';
import type { KeptLook } from '#core/pages/look-store.ts';
import type { Records } from '#core/records.ts';
import { PICTURE } from './inbox.contract.ts';
import { ALICE, BOB, minutes, NOON, aRun } from './samples.ts';

type Look = KeptLook & { readonly picture: Picture | null };

export function look(id: string, rest: Partial<Look> = {}): Look {
  return {
    id,
    runId: 'run_1',
    port: 3000,
    visit: {
      path: '/a?b=c',
      viewport: { width: 1_280, height: 800, scale: 1, mobile: false },
      steps: [{ action: 'click', selector: 'text=Go' }],
      picture: { fullPage: false },
    },
    at: NOON,
    result: 'works',
    summary: 'works',
    title: 'Ünïted',
    outline: '- heading "Hello"',
    console: [{ level: 'error', text: 'no' }],
    thumbnail: { ...PICTURE, width: 1 },
    picture: PICTURE,
    ...rest,
  };
}

/** The contract of the records of looks, `peer` being a second instance on the same database. */
export function looksContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('looks', () => {
    let here: Records['looks'];
    let there: Records['looks'];
    beforeEach(async () => {
      const { records, peer } = instances();
      [here, there] = [records.looks, peer.looks];
      await records.runs.create(aRun('run_1'));
    });
    const keep = { owner: ALICE, most: 4, pictures: 2 };

    test('come back as they were added, newest first', async () => {
      const { picture: _, ...first } = look('look_1');
      await here.add(look('look_1'), keep);
      await here.add(look('look_2', { at: minutes(1), outline: null, thumbnail: null, picture: null }), keep);
      const listed = await there.list('run_1', ALICE, NOON);
      expect(listed.map(({ id }) => id)).toEqual(['look_2', 'look_1']);
      expect(listed[1]).toEqual(first);
      expect(await there.list('run_1', ALICE, minutes(1))).toHaveLength(1);
      expect(await there.get('run_1', 'look_1', ALICE)).toEqual(look('look_1'));
      expect(await there.get('run_2', 'look_1', BOB)).toBeUndefined();
    });

    test('are kept up to a number, their pictures up to a smaller one', async () => {
      for (let at = 0; at < 6; at += 1) await here.add(look(`look_${at}`, { at: minutes(at) }), keep);
      const ids = (await there.list('run_1', ALICE, NOON)).map(({ id }) => id);
      expect(ids).toEqual(['look_5', 'look_4', 'look_3', 'look_2']);
      const pictures = await Promise.all(ids.map((id) => there.get('run_1', id, ALICE)));
      expect(pictures.map((each) => each?.picture)).toEqual([PICTURE, PICTURE, null, null]);
    });

    test('find the last look of the same page in the same way', async () => {
      const { visit } = look('look_0');
      await here.add(look('look_1'), keep);
      await here.add(look('look_2', { at: minutes(1) }), keep);
      await here.add(look('look_3', { at: minutes(2), visit: { ...visit, path: '/b' } }), keep);
      const last = async (of: Partial<Look>, since = NOON) =>
        (await there.last(look('', of), ALICE, since))?.id;
      expect(await last({})).toBe('look_2');
      expect(await last({ visit: { ...visit, path: '/b' } })).toBe('look_3');
      expect(await last({ port: 3001 })).toBeUndefined();
      expect(await last({ visit: { ...visit, steps: [] } })).toBeUndefined();
      expect(await last({}, minutes(2))).toBeUndefined();
    });

    test('are not kept for an unknown run, and are forgotten when they are old', async () => {
      await here.add(look('look_1', { runId: 'none' }), keep);
      expect(await there.list('none', ALICE, NOON)).toEqual([]);
      await here.add(look('look_2'), keep);
      expect(await there.forget(NOON)).toBe(0);
      expect(await there.forget(minutes(1))).toBe(1);
      expect(await here.list('run_1', ALICE, NOON)).toEqual([]);
    });
  });
}
