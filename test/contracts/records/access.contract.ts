import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PreviewLink } from '#core/previews/access-store.ts';
import type { Records } from '#core/records.ts';
import { ALICE, BOB, minutes, NOON } from './samples.ts';

function link(id: string, rest: Partial<PreviewLink> = {}): PreviewLink {
  return {
    id,
    runId: 'run_1',
    targetPort: 3000,
    label: 'for Ünïted',
    level: 'link',
    digest: 'digest',
    password: null,
    mayWake: false,
    uses: 0,
    maxUses: null,
    createdBy: 'alice',
    createdAt: NOON,
    expiresAt: null,
    lastUsedAt: null,
    ...rest,
  };
}

/** The contract of the records of access, `peer` being a second instance on the same database. */
export function accessContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('access to previews', () => {
    let here: Records['access'];
    let there: Records['access'];
    beforeEach(() => {
      const { records, peer } = instances();
      [here, there] = [records.access, peer.access];
    });

    test('is of one port of a run, and is changed from what it was', async () => {
      expect(await here.get('run_1', 3000)).toBeUndefined();
      const first = { level: 'password', epoch: 1, revoked: ['lnk_1'], password: 'hash' } as const;
      const second = { level: 'org', epoch: 2, revoked: [], password: null } as const;
      expect(await here.change('run_1', 3000, () => first)).toEqual(first);
      expect(await there.get('run_1', 3000)).toEqual(first);
      expect(await there.get('run_1', 3001)).toBeUndefined();
      await there.change('run_1', 3000, (known) => {
        expect(known).toEqual(first);
        return second;
      });
      expect(await here.get('run_1', 3000)).toEqual(second);
    });

    test('is refused to a blocked owner, whom every instance knows', async () => {
      const block = { owner: ALICE, reason: 'phishing', by: 'ada', at: NOON };
      expect(await here.blockOf(ALICE)).toBeUndefined();
      await here.putBlock({ ...block, reason: 'first' });
      await there.putBlock(block);
      const other = { owner: { ...ALICE, org: 'another' }, reason: '', by: 'ada', at: minutes(1) };
      await here.putBlock(other);
      expect([await here.blockOf(ALICE), await there.blockOf(BOB)]).toEqual([block, undefined]);
      expect(await there.blocks(9)).toEqual([other, block]);
      expect(await there.blocks(1)).toEqual([other]);
      expect([await there.removeBlock(ALICE), await here.removeBlock(ALICE)]).toEqual([true, false]);
      expect(await here.blocks(9)).toEqual([other]);
    });

    test('loses no change of many at once', async () => {
      await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 ? here : there).change('run_1', 3000, (known) => ({
            level: 'org',
            epoch: (known?.epoch ?? 0) + 1,
            revoked: [...(known?.revoked ?? []), `lnk_${at}`],
            password: null,
          })),
        ),
      );
      const changed = await there.get('run_1', 3000);
      expect(changed?.epoch).toBe(20);
      expect(new Set(changed?.revoked).size).toBe(20);
    });

    test('lists links as they were added, up to a number', async () => {
      const full = link('lnk_2', { password: 'hash', maxUses: 3, expiresAt: minutes(5), level: 'org' });
      expect(await here.addLink(link('lnk_1'), 2)).toBe(true);
      expect(await there.addLink(full, 2)).toBe(true);
      expect(await here.addLink(link('lnk_3'), 2)).toBe(false);
      expect(await here.addLink(link('lnk_4', { targetPort: 3001 }), 2)).toBe(true);
      expect(await there.links('run_1', 3000)).toEqual([link('lnk_1'), full]);
      expect(await here.link('lnk_2')).toEqual(full);
      expect(await here.link('lnk_3')).toBeUndefined();
      expect(await here.removeLink('lnk_1')).toBe(true);
      expect(await there.removeLink('lnk_1')).toBe(false);
      expect((await here.links('run_1', 3000)).map(({ id }) => id)).toEqual(['lnk_2']);
    });

    test('keeps a link that is added again', async () => {
      expect(await here.addLink(link('lnk_1', { label: 'first' }), 2)).toBe(true);
      expect(await there.addLink(link('lnk_1', { label: 'second' }), 2)).toBe(true);
      expect((await here.links('run_1', 3000)).map(({ label }) => label)).toEqual(['first']);
    });

    test('counts the uses of a link up to its maximum, of many at once', async () => {
      await here.addLink(link('lnk_1', { maxUses: 3 }), 9);
      const used = await Promise.all(
        Array.from({ length: 10 }, (_, at) => (at % 2 ? here : there).useLink('lnk_1', minutes(1))),
      );
      expect(used.filter(Boolean)).toHaveLength(3);
      expect(await there.link('lnk_1')).toMatchObject({ uses: 3, lastUsedAt: minutes(1) });
    });

    test('refuses the use of a link that has expired, or does not exist', async () => {
      await here.addLink(link('lnk_1', { expiresAt: minutes(1) }), 9);
      expect(await here.useLink('lnk_1', minutes(1))).toBe(false);
      expect(await here.useLink('lnk_1', NOON)).toBe(true);
      expect(await here.useLink('lnk_2', NOON)).toBe(false);
    });

    test('keeps the first and the last visit of each viewer and link', async () => {
      const visit = { runId: 'run_1', targetPort: 3000, viewer: 'bob', linkId: '' };
      const byLink = { ...visit, linkId: 'lnk_1' };
      await here.addVisit(visit, NOON, 9);
      await there.addVisit(byLink, minutes(1), 9);
      await there.addVisit(visit, minutes(2), 9);
      expect(await here.visits('run_1', 3000, 10)).toEqual([
        { ...visit, firstAt: NOON, lastAt: minutes(2) },
        { ...byLink, firstAt: minutes(1), lastAt: minutes(1) },
      ]);
      expect(await here.visits('run_1', 3000, 1)).toHaveLength(1);
      expect(await there.hasVisited(byLink)).toBe(true);
      expect(await there.hasVisited({ ...byLink, viewer: 'carol' })).toBe(false);
    });

    test('keeps the last visitors of a port, and all of another one', async () => {
      const visit = { runId: 'run_1', targetPort: 3000, linkId: '' };
      await here.addVisit({ ...visit, targetPort: 3001, viewer: 'bob' }, NOON, 2);
      for (const [at, viewer] of ['bob', 'carol', 'dave', 'carol', 'erin'].entries()) {
        await here.addVisit({ ...visit, viewer }, minutes(at), 2);
      }
      expect((await there.visits('run_1', 3000, 10)).map(({ viewer }) => viewer)).toEqual(['erin', 'carol']);
      expect(await there.visits('run_1', 3001, 10)).toHaveLength(1);
    });

    test('keeps people apart from any number of visitors without a name, and links from each other', async () => {
      const visit = { runId: 'run_1', targetPort: 3000, linkId: 'lnk_1' };
      await here.addVisit({ ...visit, viewer: 'bob' }, NOON, 2);
      await here.addVisit({ ...visit, viewer: 'visitor-a', linkId: 'lnk_2' }, NOON, 2);
      for (let at = 1; at <= 4; at += 1) {
        await here.addVisit({ ...visit, viewer: `visitor-${at}` }, minutes(at), 2);
      }
      const viewers = async (most: number) =>
        (await there.visits('run_1', 3000, most)).map(({ viewer }) => viewer);
      expect((await viewers(10)).toSorted()).toEqual(['bob', 'visitor-3', 'visitor-4', 'visitor-a']);
      expect(await viewers(2)).toEqual(['visitor-4', 'bob']);
    });

    test('forgets visits and expired links, and no others', async () => {
      await here.addLink(link('lnk_1', { expiresAt: minutes(1) }), 9);
      await here.addLink(link('lnk_2'), 9);
      await here.addVisit({ runId: 'run_1', targetPort: 3000, viewer: 'bob', linkId: '' }, minutes(1), 9);
      expect(await there.forget(minutes(1))).toBe(0);
      expect(await there.forget(minutes(2))).toBe(2);
      expect((await here.links('run_1', 3000)).map(({ id }) => id)).toEqual(['lnk_2']);
      expect(await here.visits('run_1', 3000, 10)).toEqual([]);
    });

    test('counts starts by visitors up to the budget of a link and of an owner, of many at once', async () => {
      const budget = { perLink: 2, perOwner: 5 };
      const wake = (at: number, linkId: string, owner = ALICE) =>
        (at % 2 ? here : there).addWake({ owner, linkId, at: minutes(at % 9) }, minutes(-1), budget);
      const counted = async (count: number, linkId: string, owner = ALICE) =>
        (await Promise.all(Array.from({ length: count }, (_, at) => wake(at, linkId, owner)))).filter(Boolean)
          .length;
      expect(await counted(10, 'lnk_1')).toBe(2);
      expect(await counted(10, '')).toBe(3);
      expect(await counted(1, 'lnk_2')).toBe(0);
      expect(await counted(3, 'lnk_1', BOB)).toBe(2);
      expect(await here.addWake({ owner: ALICE, linkId: '', at: minutes(30) }, minutes(20), budget)).toBe(
        true,
      );
    });

    test('stores whether a link may start its preview', async () => {
      await here.addLink(link('lnk_1', { mayWake: true }), 9);
      expect((await there.link('lnk_1'))?.mayWake).toBe(true);
    });
  });
}
