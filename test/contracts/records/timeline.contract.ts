import { beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Records } from '#core/records.ts';
import type { NewEvent, RunEvent } from '#core/runs/timeline.ts';
import { minutes, NOON, aRun, tombstone, hash, fresh } from './samples.ts';

const kept = (key: string, again?: number): NewEvent => ({
  type: 'preview.kept',
  key,
  data: { target_port: 3000 },
  ...(again === undefined ? {} : { again }),
});

/** The contract of a timeline, `peer` being a second instance on the same database. */
export function timelineContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { runs: propertyRuns, wakesPeers }: { runs: number; wakesPeers: boolean },
): void {
  describe('timelines', () => {
    let records: Records;
    let peer: Records;
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.runs.create(aRun('run_1'));
    });

    const all = async (runId: string, from = records): Promise<readonly RunEvent[]> =>
      (await from.timeline.read(runId, { after: 0, limit: 1000 })).events;

    test('begin with the event of the run’s creation', async () => {
      await records.runs.create(aRun('run_2'), [
        { type: 'run.created', key: 'created', data: { owner: 'alice', title: null } },
        { type: 'sandbox.created', key: 'sandbox-created', data: { sandbox_id: 'box' } },
      ]);
      expect(await all('run_2', peer)).toEqual([
        { seq: 1, type: 'run.created', at: NOON, data: { owner: 'alice', title: null } },
        { seq: 2, type: 'sandbox.created', at: NOON, data: { sandbox_id: 'box' } },
      ]);
      expect(await all('run_1')).toEqual([]);
    });

    test('stay unchanged when a run with a taken id is created', async () => {
      const again = records.runs.create(aRun('run_1'), [{ type: 'run.created', key: 'created', data: {} }]);
      await expect(again).rejects.toMatchObject({ code: 'internal_error' });
      expect(await all('run_1')).toEqual([]);
    });

    test('have the completion once, also with concurrent completions', async () => {
      const reported: NewEvent[] = [{ type: 'run.completed', key: 'completed', data: {} }];
      await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 ? peer : records).runs.complete('run_1', minutes(at), reported),
        ),
      );
      const [event, ...more] = await all('run_1');
      expect([event?.type, more]).toEqual(['run.completed', []]);
      expect(event?.at).toEqual((await records.runs.get('run_1'))?.completedAt);
    });

    test('tell of the end of a preview together with its revocation', async () => {
      const reported: NewEvent[] = [{ type: 'preview.stopped', key: 'ended:1', data: { target_port: 3000 } }];
      const stone = tombstone(hash('a'), 'stopped', minutes(2));
      await Promise.all([
        records.previews.end('run_1', 3000, 0, stone, reported),
        peer.previews.end('run_1', 3000, 0, stone, reported),
      ]);
      expect(await all('run_1')).toEqual([
        { seq: 1, type: 'preview.stopped', at: minutes(2), data: { target_port: 3000 } },
      ]);
    });

    test('keep events in their order, with unchanged data', async () => {
      const data = { text: 'a "quote", a 🛳️, a\nline', number: -1.5, yes: true, no: false, none: null };
      await records.timeline.append('run_1', [{ type: 'preview.opened', key: 'a', data }, kept('b')], NOON);
      await peer.timeline.append('run_1', [kept('c')], minutes(-5));
      expect(await all('run_1')).toEqual([
        { seq: 1, type: 'preview.opened', at: NOON, data },
        { seq: 2, type: 'preview.kept', at: NOON, data: { target_port: 3000 } },
        { seq: 3, type: 'preview.kept', at: minutes(-5), data: { target_port: 3000 } },
      ]);
    });

    test('stay empty for an unknown run', async () => {
      await records.timeline.append('run_none', [kept('a')], NOON);
      expect(await all('run_none')).toEqual([]);
    });

    test('tell under one key once, in one call and in many', async () => {
      await records.timeline.append('run_1', [kept('a'), kept('a'), kept('b')], NOON);
      await peer.timeline.append('run_1', [kept('b'), kept('c'), kept('a')], minutes(1));
      await records.timeline.append('run_1', [], minutes(1));
      expect((await all('run_1')).map(({ at }) => at)).toEqual([NOON, NOON, minutes(1)]);
    });

    test('tell again under a key once enough time has passed since the last time', async () => {
      const again = 10 * 60_000;
      for (const at of [0, 9, 10, 19, 21, 20, 30, 31]) {
        await records.timeline.append('run_1', [kept('a', again)], minutes(at));
      }
      expect((await all('run_1')).map(({ at }) => at)).toEqual([0, 10, 21, 31].map(minutes));
    });

    test('get numbers without a gap and each key once from concurrent callers', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 12 }),
          async (calls) => {
            const id = fresh();
            await records.runs.create(aRun(id));
            await Promise.all(
              calls.map((keys, at) =>
                (at % 2 ? peer : records).timeline.append(
                  id,
                  keys.map((key) => ({ ...kept(`key-${key}`), data: { key } })),
                  NOON,
                ),
              ),
            );
            const events = await all(id);
            expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
            const keys = new Set(calls.flat());
            expect([events.length, new Set(events.map(({ data }) => data['key']))]).toEqual([
              keys.size,
              keys,
            ]);
          },
        ),
        { numRuns: propertyRuns },
      );
    });

    test('are never read with a gap that fills later, while many append', async () => {
      let writing = true;
      const writers = Promise.all(
        Array.from({ length: 6 }, async (_, writer) => {
          for (let at = 0; at < 15; at += 1) {
            await (writer % 2 ? peer : records).timeline.append('run_1', [kept(`${writer}-${at}`)], NOON);
          }
        }),
      ).finally(() => (writing = false));
      const seen: number[] = [];
      while (writing || seen.length < 90) {
        const { events } = await records.timeline.read('run_1', { after: seen.length, limit: 7 });
        seen.push(...events.map(({ seq }) => seq));
      }
      await writers;
      expect(seen).toEqual(Array.from({ length: 90 }, (_, at) => at + 1));
    });

    test('are read in pages that say whether more follows', async () => {
      await records.timeline.append('run_1', [kept('a'), kept('b'), kept('c'), kept('d')], NOON);
      const page = async (after: number, limit: number) => {
        const { events, more } = await peer.timeline.read('run_1', { after, limit });
        return [events.map(({ seq }) => seq), more];
      };
      expect(await page(0, 2)).toEqual([[1, 2], true]);
      expect(await page(2, 2)).toEqual([[3, 4], false]);
      expect(await page(1, 3)).toEqual([[2, 3, 4], false]);
      expect(await page(4, 1)).toEqual([[], false]);
      expect(await page(2_147_483_647, 1)).toEqual([[], false]);
    });

    test.each([
      [0, 0, 'limit must be an integer from 1 to 1000, got 0'],
      [0, 1001, 'limit must be an integer from 1 to 1000, got 1001'],
      [-1, 1, 'after must be the id of an event, got -1: start again without it'],
      [1.5, 1, 'after must be the id of an event, got 1.5: start again without it'],
      [2 ** 31, 1, 'after must be the id of an event, got 2147483648: start again without it'],
    ])('refuse to be read after %p with a limit of %p', async (after, limit, message) => {
      await expect(records.timeline.read('run_1', { after, limit })).rejects.toMatchObject({
        code: 'invalid_request',
        message,
      });
    });

    /**
     * Follows the run up to this many events; never resolves if a wake is missing or comes before
     * its change.
     */
    async function follow(from: Records, count: number): Promise<void> {
      let { promise: rung, resolve: ring } = Promise.withResolvers<void>();
      const end = from.timeline.watch('run_1', () => ring());
      for (;;) {
        ({ promise: rung, resolve: ring } = Promise.withResolvers<void>());
        if ((await all('run_1', from)).length >= count) break;
        await rung;
      }
      end();
    }

    async function tellFive(): Promise<void> {
      for (let at = 1; at <= 5; at += 1) await records.timeline.append('run_1', [kept(`key-${at}`)], NOON);
    }

    test('notify watchers of the run once the event can be read', async () => {
      const following = [follow(records, 5), follow(records, 1), follow(records, 3)];
      await tellFive();
      await Promise.all(following);
    });

    test('do not notify a watcher that has stopped', async () => {
      let woken = 0;
      const end = records.timeline.watch('run_1', () => (woken += 1));
      end();
      end();
      const following = follow(records, 5);
      await tellFive();
      await following;
      expect(woken).toBe(0);
    });

    if (!wakesPeers) return;

    test('notify watchers on another instance', async () => {
      const following = [follow(peer, 5), follow(peer, 2), follow(records, 5)];
      await tellFive();
      await Promise.all(following);
    });
  });
}
