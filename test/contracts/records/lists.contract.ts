import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Owner } from '#base/clock-and-ids.ts';
import type { Page, PageRequest } from '#base/reads.ts';
import type { Records } from '#core/records.ts';
import type { RunFilter, RunSort } from '#core/runs/run-records.ts';
import type { SandboxFilter, SandboxSort } from '#core/sandboxes/sandbox-records.ts';
import { POOL_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import { ALICE, BOB, minutes, aRun, aSandbox } from './samples.ts';

async function idsOf<T extends { readonly id: string }>(
  list: (page: PageRequest) => Promise<Page<T>>,
  limit = 10,
): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const page = await list({ limit, after });
    ids.push(...page.items.map(({ id }) => id));
    after = page.next ?? undefined;
  } while (after !== undefined);
  return ids;
}

/** Search, filters, orders and totals of the lists of runs and sandboxes. */
export function listsContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('lists', () => {
    let records: Records;
    let peer: Records;

    beforeEach(() => {
      ({ records, peer } = instances());
    });

    describe('of runs', () => {
      const ids = (owner: Owner | undefined, filter: RunFilter, sort?: RunSort, limit?: number) =>
        idsOf((page) => peer.runs.list(owner, page, filter, sort), limit);

      beforeEach(async () => {
        await records.sandboxes.create(aSandbox('boxa', { image: 'node', tags: { team: 'Red' } }));
        await records.sandboxes.create(aSandbox('boxb'));
        const made = [
          aRun('run_1', { title: 'Checkout 100%', createdAt: minutes(1), sandboxId: 'boxa' }),
          aRun('run_2', { title: 'basket_view', createdAt: minutes(2), sandboxId: 'boxb' }),
          aRun('run_3', { title: null, createdAt: minutes(3), sandboxId: 'gone' }),
          aRun('run_4', { title: 'Basket view', createdAt: minutes(4), owner: BOB, sandboxId: 'boxa' }),
        ];
        for (const each of made) await records.runs.create(each);
        await records.runs.complete('run_2', minutes(9));
      });

      test.each<[string, RunFilter, string[]]>([
        ['a text of the title, ignoring case', { text: 'BASKET' }, ['run_4', 'run_2']],
        ['a percent sign as itself', { text: '0%' }, ['run_1']],
        ['an underscore as itself', { text: 'basket_' }, ['run_2']],
        ['a backslash as itself', { text: '\\' }, []],
        ['an id', { text: 'RUN_3' }, ['run_3']],
        ['a sandbox', { text: 'boxb' }, ['run_2']],
        ['an owner', { text: 'bob' }, ['run_4']],
        ['a state', { status: 'completed' }, ['run_2']],
        ['the owner alone', { ownerUser: 'bob' }, ['run_4']],
        ['a sandbox’s id alone', { sandboxId: 'boxa' }, ['run_4', 'run_1']],
        ['the image of its sandbox', { image: 'node' }, ['run_4', 'run_1']],
        ['the default image of its sandbox', { image: 'default' }, ['run_2']],
        ['a tag of its sandbox', { tags: { team: 'Red' } }, ['run_4', 'run_1']],
        ['another value of a tag', { tags: { team: 'red' } }, []],
        ['an age', { createdAfter: minutes(2), createdBefore: minutes(4) }, ['run_3', 'run_2']],
        ['several at once', { text: 'basket', status: 'running', image: 'node' }, ['run_4']],
        ['a quote', { text: "' or 1=1 --" }, []],
      ])('find %s, and count the same', async (_, filter, wanted) => {
        expect(await ids(undefined, filter)).toEqual(wanted);
        expect(await records.runs.count(undefined, filter)).toBe(wanted.length);
      });

      test('find no others of an owner', async () => {
        expect(await ids(ALICE, { text: 'basket' })).toEqual(['run_2']);
        expect(await ids(ALICE, { ownerUser: 'bob' })).toEqual([]);
        expect(await records.runs.count(ALICE, {})).toBe(3);
        expect(await records.runs.count(ALICE)).toBe(3);
      });

      test.each<[RunSort, string[]]>([
        ['newest', ['run_4', 'run_3', 'run_2', 'run_1']],
        ['oldest', ['run_1', 'run_2', 'run_3', 'run_4']],
        // A space sorts before an underscore, and a run without a title first.
        ['title', ['run_3', 'run_4', 'run_2', 'run_1']],
      ])('come in the order %s, in pages of any size', async (sort, wanted) => {
        for (const limit of [1, 2, 3, 10]) expect(await ids(undefined, {}, sort, limit)).toEqual(wanted);
      });

      test('page titles of the longest length in any script', async () => {
        const title = (last: string) => `${'語"\\'.repeat(66)}${last}`;
        for (const each of ['a', 'b', 'c'])
          await records.runs.create(aRun(`long_${each}`, { title: title(each), sandboxId: 'long' }));
        const found = await ids(undefined, { sandboxId: 'long' }, 'title', 1);
        expect(found).toEqual(['long_a', 'long_b', 'long_c']);
        const page = await records.runs.list(undefined, { limit: 1 }, { sandboxId: 'long' }, 'title');
        // The API accepts cursors of 500 characters.
        expect(page.next?.length).toBeLessThanOrEqual(500);
      });

      test('refuse a cursor of another order', async () => {
        const refusal = {
          code: 'invalid_request',
          message: 'after is not the next of a page: start again without it',
        };
        const byTitle = await records.runs.list(undefined, { limit: 1 }, {}, 'title');
        const byTime = await records.runs.list(undefined, { limit: 1 });
        const list = (after: string | null, sort: RunSort) =>
          records.runs.list(undefined, { limit: 1, after: after ?? '' }, {}, sort);
        await expect(list(byTitle.next, 'newest')).rejects.toMatchObject(refusal);
        await expect(list(byTime.next, 'title')).rejects.toMatchObject(refusal);
        for (const text of ['["title","a"]', '["title","a","\\u0000"]', '["name","a","run_1"]', '{}']) {
          const after = Buffer.from(text).toString('base64url');
          await expect(list(after, 'title')).rejects.toMatchObject(refusal);
        }
      });
    });

    describe('of sandboxes', () => {
      const ids = (owner: Owner | undefined, filter: SandboxFilter, sort?: SandboxSort, limit?: number) =>
        idsOf((page) => peer.sandboxes.list(owner, filter, page, sort), limit);

      beforeEach(async () => {
        const made = [
          aSandbox('aa', { createdAt: minutes(1), name: 'web', tags: { team: 'Red' }, observed: 'running' }),
          aSandbox('bb', { createdAt: minutes(2), image: 'python', sessionKey: 'Chat:7' }),
          aSandbox('cc', { createdAt: minutes(3), name: 'API', owner: BOB, tags: { note: 'a"b' } }),
          aSandbox('dd', { createdAt: minutes(4), owner: POOL_OWNER, name: 'web-pool' }),
          aSandbox('ee', { createdAt: minutes(5), desired: 'destroyed', observed: 'destroyed', name: 'web' }),
        ];
        for (const each of made) await records.sandboxes.create(each);
        await records.sandboxes.touch({ id: 'aa', generation: 1 }, minutes(9));
      });

      test.each<[string, SandboxFilter, string[]]>([
        ['a text of the name', { text: 'we' }, ['aa']],
        ['a text of the session key', { text: 'chat:7' }, ['bb']],
        ['a text of the image', { text: 'pyth' }, ['bb']],
        ['a text of a tag', { text: 'team:red' }, ['aa']],
        ['a quote in a tag', { text: 'a"b' }, ['cc']],
        ['no brace of the stored tags', { text: '{' }, []],
        ['an owner', { ownerUser: 'bob' }, ['cc']],
        ['an image', { image: 'python' }, ['bb']],
        ['the default image', { image: 'default' }, ['cc', 'aa']],
        ['an age', { createdAfter: minutes(2) }, ['cc', 'bb']],
        ['a state and a text', { text: 'a', state: 'running' }, ['aa']],
      ])('find %s, and count the same', async (_, filter, wanted) => {
        expect(await ids(undefined, filter)).toEqual(wanted);
        expect(await records.sandboxes.count(undefined, filter)).toBe(wanted.length);
      });

      test.each<[SandboxSort, string[]]>([
        ['newest', ['cc', 'bb', 'aa']],
        ['oldest', ['aa', 'bb', 'cc']],
        ['active', ['aa', 'cc', 'bb']],
        ['name', ['bb', 'cc', 'aa']],
      ])('come in the order %s, in pages of any size', async (sort, wanted) => {
        for (const limit of [1, 2, 10]) expect(await ids(undefined, {}, sort, limit)).toEqual(wanted);
        expect(await ids(ALICE, {}, sort, 1)).toEqual(wanted.filter((id) => id !== 'cc'));
      });
    });
  });
}
