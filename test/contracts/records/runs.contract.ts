import { beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Owner } from '#base/clock-and-ids.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { Records } from '#core/records.ts';
import { ALICE, BOB, fresh, minutes, NOON, aRun, allPages } from './samples.ts';

/** The contract of the records of runs, `peer` being a second instance on the same database. */
export function runsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { runs: propertyRuns }: { readonly runs: number },
): void {
  describe('runs', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });

    test('come back as they were created', async () => {
      const plain = aRun('run_1');
      const full = aRun('run_2', {
        owner: { user: "o'hara", org: 'Ünïted; drop table runs' },
        title: 'build a 🛳️\n"demo"',
        autoApproveTools: true,
        status: 'completed',
        createdAt: new Date('2026-01-02T03:04:05.006Z'),
        completedAt: new Date('2026-01-02T03:04:05.999Z'),
      });
      await records.runs.create(plain);
      await records.runs.create(full);
      expect(await peer.runs.get('run_1')).toEqual(plain);
      expect(await peer.runs.get('run_2')).toEqual(full);
    });

    test('store only the fields of a run', async () => {
      await records.runs.create(Object.assign(aRun('run_1'), { mood: 'good' }));
      expect(await peer.runs.get('run_1')).toEqual(aRun('run_1'));
    });

    test('are undefined under an unknown id', async () => {
      expect(await records.runs.get('run_none')).toBeUndefined();
      expect(await records.runs.complete('run_none', NOON)).toBeUndefined();
    });

    test('keep their first owner when an id is used again', async () => {
      await records.runs.create(aRun('run_1'));
      await expect(peer.runs.create(aRun('run_1', { owner: BOB }))).rejects.toMatchObject({
        code: 'internal_error',
        message: 'the run id run_1 is taken: make a fresh one',
      });
      expect(await records.runs.get('run_1')).toEqual(aRun('run_1'));
    });

    test('count the rotations of their token while they run', async () => {
      await records.runs.create(aRun('run_1'));
      const rotations = [records, peer, records].map(({ runs }) => runs.rotateToken('run_1'));
      const versions = (await Promise.all(rotations)).map((rotated) => rotated?.tokenVersion);
      expect(new Set(versions)).toEqual(new Set([1, 2, 3]));
      expect(await peer.runs.get('run_1')).toEqual(aRun('run_1', { tokenVersion: 3 }));
      await records.runs.complete('run_1', NOON);
      expect(await records.runs.rotateToken('run_1')).toBeUndefined();
      expect(await records.runs.rotateToken('run_none')).toBeUndefined();
    });

    test('are shared, and say so once', async () => {
      await records.runs.create(aRun('run_1'));
      await records.runs.create(aRun('run_2', { sharing: 'work', owner: BOB }));
      const event = { type: 'run.shared', key: 'k', data: { sharing: 'view' } } as const;
      const viewed = aRun('run_1', { sharing: 'view' });
      expect(await records.runs.share('run_1', 'view', NOON, [event])).toEqual(viewed);
      expect(await peer.runs.share('run_1', 'view', NOON, [{ ...event, key: 'other' }])).toEqual(viewed);
      const { events } = await peer.timeline.read('run_1', { after: 0, limit: 9 });
      expect(events.map(({ type }) => type)).toEqual(['run.shared']);
      expect(await peer.runs.get('run_1')).toEqual(viewed);
      expect(await records.runs.share('run_none', 'view', NOON)).toBeUndefined();
    });

    test('share a sandbox as widely as the widest of its owner', async () => {
      for (const [at, sharing] of (['private', 'work', 'view'] as const).entries()) {
        await records.runs.create(aRun(`run_${at}`, { sharing }));
      }
      await records.runs.create(aRun('run_bob', { sharing: 'view', owner: BOB }));
      expect(await peer.runs.sharingIn('box', ALICE)).toBe('work');
      expect(await peer.runs.sharingIn('box', BOB)).toBe('view');
      expect(await peer.runs.sharingIn('other', ALICE)).toBe('private');
      await records.runs.share('run_1', 'private', NOON);
      expect(await peer.runs.sharingIn('box', ALICE)).toBe('view');
    });

    test('are listed for the organisation that they are shared with', async () => {
      await records.runs.create(aRun('run_1', { sharing: 'view' }));
      await records.runs.create(aRun('run_2'));
      await records.runs.create(aRun('run_3', { sharing: 'work', owner: BOB }));
      await records.runs.create(aRun('run_4', { sharing: 'work', owner: { user: 'eve', org: 'globex' } }));
      const found = async (sharedWith: Owner) =>
        (await peer.runs.list(undefined, { limit: 9 }, { sharedWith })).items.map(({ id }) => id);
      expect(await found(BOB)).toEqual(['run_1']);
      expect(await found(ALICE)).toEqual(['run_3']);
      expect(await peer.runs.count(undefined, { sharedWith: BOB })).toBe(1);
    });

    test('complete once and keep the time of the first completion', async () => {
      await records.runs.create(aRun('run_1'));
      const completed = aRun('run_1', { status: 'completed', completedAt: minutes(1) });
      expect(await records.runs.complete('run_1', minutes(1))).toEqual(completed);
      expect(await peer.runs.complete('run_1', minutes(2))).toEqual(completed);
      expect(await peer.runs.complete('run_1', minutes(-2))).toEqual(completed);
      expect(await records.runs.get('run_1')).toEqual(completed);
    });

    test('give everybody one completion when many complete them at once', async () => {
      await records.runs.create(aRun('run_1'));
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, at) =>
          (at % 2 ? peer : records).runs.complete('run_1', minutes(at + 1)),
        ),
      );
      const times = new Set(results.map((result) => result?.completedAt?.getTime()));
      expect(times.size).toBe(1);
      expect(times.has((await records.runs.get('run_1'))?.completedAt?.getTime())).toBe(true);
    });

    test('are completed only where they have been completed', async () => {
      await records.runs.create(aRun('run_1'));
      await records.runs.create(aRun('run_2'));
      await records.runs.complete('run_2', NOON);
      expect(await peer.runs.completedAmong(['run_1', 'run_2', 'run_2', 'run_none'])).toEqual(
        new Set(['run_2']),
      );
    });

    test('are listed newest first, of one owner or of everybody', async () => {
      await records.runs.create(aRun('run_a', { createdAt: minutes(1) }));
      await records.runs.create(aRun('run_b', { createdAt: minutes(3), owner: BOB }));
      await records.runs.create(aRun('run_c', { createdAt: minutes(2) }));
      await records.runs.create(aRun('run_d', { owner: { user: 'alice', org: 'other' } }));
      const ids = async (owner?: Owner) =>
        (await records.runs.list(owner, { limit: 10 })).items.map(({ id }) => id);
      expect(await ids()).toEqual(['run_b', 'run_c', 'run_a', 'run_d']);
      expect(await ids(ALICE)).toEqual(['run_c', 'run_a']);
      expect(await ids(BOB)).toEqual(['run_b']);
      expect(await ids({ user: 'unknown', org: 'acme' })).toEqual([]);
    });

    test('are sorted byte by byte when they have the same time', async () => {
      for (const id of ['b', 'A', 'a', 'B', 'a_', 'é', 'a-']) await records.runs.create(aRun(id));
      const { items } = await records.runs.list(undefined, { limit: 10 });
      expect(items.map(({ id }) => id)).toEqual(['é', 'b', 'a_', 'a-', 'a', 'B', 'A']);
    });

    test('end their list with a page that has no next, also when it is full', async () => {
      for (const id of ['run_1', 'run_2', 'run_3', 'run_4']) await records.runs.create(aRun(id));
      const pages = await allPages((page) => records.runs.list(ALICE, page), 2);
      expect(pages.map((items) => items.map(({ id }) => id))).toEqual([
        ['run_4', 'run_3'],
        ['run_2', 'run_1'],
      ]);
    });

    test('are paged without gaps or repeats while others are inserted', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(fc.tuple(fc.nat(3), fc.stringMatching(/^[a-zA-Z0-9_-]{1,6}$/)), {
            maxLength: 12,
            selector: ([, id]) => id,
          }),
          fc.array(fc.nat(3), { maxLength: 5 }),
          fc.integer({ min: 1, max: 4 }),
          async (rows, inserts, limit) => {
            const user = fresh();
            const owner = { user, org: 'paging' };
            const before = rows.map(([minute, id]) =>
              aRun(`${user}${id}`, { owner, createdAt: minutes(minute) }),
            );
            for (const each of before) await records.runs.create(each);
            const seen: RunRecord[] = [];
            let after: string | undefined;
            for (let at = 0; ; at += 1) {
              const page = await records.runs.list(owner, { limit, after });
              seen.push(...page.items);
              if (page.next === null) break;
              after = page.next;
              const minute = inserts[at];
              if (minute !== undefined) {
                await peer.runs.create(aRun(`${user}~${at}`, { owner, createdAt: minutes(minute) }));
              }
            }
            const wanted = before.toSorted(
              (a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1),
            );
            expect(seen.filter(({ id }) => !id.includes('~'))).toEqual(wanted);
            expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
          },
        ),
        { numRuns: propertyRuns },
      );
    });

    test.each([0, 1001, -1, 1.5, Number.NaN])('refuse a limit of %p', async (limit) => {
      await expect(records.runs.list(undefined, { limit })).rejects.toMatchObject({
        code: 'invalid_request',
        message: `limit must be an integer from 1 to 1000, got ${limit}`,
      });
    });

    test.each([
      ['empty', ''],
      ['no base64url', '***'],
      ['too short', Buffer.from('2026').toString('base64url')],
      ['without an id', Buffer.from('2026-03-01T12:00:00.000Z').toString('base64url')],
      ['padded', Buffer.from('2026-03-01T12:00:00.000Zx').toString('base64')],
      ['of an unreadable time', Buffer.from("2026-03-01T12:00:00.000'run_1").toString('base64url')],
      ['with a NUL', Buffer.from('2026-03-01T12:00:00.000Zrun\0').toString('base64url')],
      [
        'not UTF-8',
        Buffer.concat([Buffer.from('2026-03-01T12:00:00.000Z'), Buffer.of(0xff)]).toString('base64url'),
      ],
      ['huge', Buffer.from(`2026-03-01T12:00:00.000Z${'x'.repeat(5000)}`).toString('base64url')],
    ])('refuse an after that is %s', async (_, after) => {
      const refusal = {
        code: 'invalid_request',
        message: 'after is not the next of a page: start again without it',
      };
      await expect(records.runs.list(undefined, { limit: 1, after })).rejects.toMatchObject(refusal);
      await expect(records.sandboxes.live({ limit: 1, after })).rejects.toMatchObject(refusal);
    });

    test('are counted by owner: all, or those that a person may see', async () => {
      const eve = { user: 'eve', org: 'elsewhere' };
      await records.runs.create(aRun('run_1', { createdAt: minutes(1) }));
      await records.runs.create(aRun('run_2', { createdAt: minutes(4), sharing: 'view' }));
      await records.runs.create(aRun('run_3', { createdAt: minutes(2), owner: BOB, sharing: 'work' }));
      await records.runs.create(aRun('run_4', { createdAt: minutes(3), owner: eve, sharing: 'work' }));
      await records.runs.complete('run_2', minutes(5));
      const ofAlice = { owner: ALICE, runs: 2, active: 1, lastAt: minutes(4) };
      const ofBob = { owner: BOB, runs: 1, active: 1, lastAt: minutes(2) };
      const ofEve = { owner: eve, runs: 1, active: 1, lastAt: minutes(3) };
      expect(await peer.runs.owners(undefined, 9)).toEqual([ofAlice, ofEve, ofBob]);
      expect(await peer.runs.owners(undefined, 2)).toEqual([ofAlice, ofEve]);
      expect(await peer.runs.owners(ALICE, 9)).toEqual([ofAlice, ofBob]);
      expect(await peer.runs.owners(BOB, 9)).toEqual([{ ...ofAlice, runs: 1, active: 0 }, ofBob]);
      expect(await peer.runs.owners({ user: 'carol', org: 'nowhere' }, 9)).toEqual([]);
    });

    test('are found by their sandbox', async () => {
      for (const id of ['run_2', 'run_1']) await records.runs.create(aRun(id));
      await records.runs.create(aRun('run_3', { sandboxId: 'other' }));
      await records.runs.complete('run_2', NOON);
      expect(await peer.runs.inSandbox('box')).toEqual(['run_1', 'run_2']);
      expect(await peer.runs.inSandbox('none')).toEqual([]);
    });
  });
}
