import { beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { EndReason, Tombstone } from '#core/previews/preview-records.ts';
import type { Records } from '#core/records.ts';
import { aRun, aSandbox, fresh, hash, minutes, tombstone } from './samples.ts';

const REASONS: readonly EndReason[] = ['stopped', 'expired', 'max_lifetime', 'orphaned'];

/**
 * The contract of the records of ended previews, `peer` being a second instance on the same
 * database.
 */
export function previewsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { runs: propertyRuns }: { readonly runs: number },
): void {
  describe('previews', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });

    test('begin at generation 0', async () => {
      expect(await records.previews.generation('run_1', 3000)).toBe(0);
    });

    test('move one generation and leave the tombstone when they end', async () => {
      const stone = tombstone(hash('a'), 'stopped', minutes(1));
      expect(await records.previews.end('run_1', 3000, 0, stone)).toBe(1);
      expect(await peer.previews.generation('run_1', 3000)).toBe(1);
      expect(await peer.previews.tombstone(hash('a'))).toEqual(stone);
      expect(await peer.previews.generation('run_1', 3001)).toBe(0);
      expect(await peer.previews.generation('run_2', 3000)).toBe(0);
    });

    test('move nothing from a generation that is not the present one', async () => {
      expect(await records.previews.end('run_1', 3000, 3, tombstone(hash('a'), 'stopped'))).toBe(0);
      await records.previews.end('run_1', 3000, 0, tombstone(hash('b'), 'stopped'));
      await records.previews.end('run_1', 3000, 1, tombstone(hash('c'), 'stopped'));
      expect(await peer.previews.end('run_1', 3000, 0, tombstone(hash('d'), 'stopped'))).toBe(2);
      expect(await peer.previews.generation('run_1', 3000)).toBe(2);
      expect(await peer.previews.tombstone(hash('d'))).toEqual(tombstone(hash('d'), 'stopped'));
    });

    test.each([0, 1])('count simultaneous ends from generation %p once', async (from) => {
      for (let at = 0; at < from; at += 1) {
        await records.previews.end('run_1', 3000, at, tombstone(hash(at), 'stopped'));
      }
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, at) =>
          (at % 2 ? peer : records).previews.end('run_1', 3000, from, tombstone(hash('now'), 'stopped')),
        ),
      );
      expect(new Set(results)).toEqual(new Set([from + 1]));
      expect(await records.previews.generation('run_1', 3000)).toBe(from + 1);
    });

    test('advance as a model says, from any generation', async () => {
      const ends = fc.array(fc.record({ port: fc.constantFrom(1, 2), from: fc.nat(3) }), { maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(fc.array(ends, { maxLength: 4 }), async (batches) => {
          const runId = fresh();
          const model = new Map<number, number>([
            [1, 0],
            [2, 0],
          ]);
          for (const batch of batches) {
            const before = new Map(model);
            const results = await Promise.all(
              batch.map(({ port, from }, at) =>
                (at % 2 ? peer : records).previews.end(runId, port, from, tombstone(hash(at), 'stopped')),
              ),
            );
            for (const [port, generation] of before) {
              const froms = new Set(batch.filter((end) => end.port === port).map(({ from }) => from));
              // Concurrent ends may chain, in any order: as far as an unbroken sequence of
              // `from`s leads.
              let furthest = generation;
              while (froms.has(furthest)) furthest += 1;
              const now = await records.previews.generation(runId, port);
              expect(now).toBeGreaterThanOrEqual(froms.has(generation) ? generation + 1 : generation);
              expect(now).toBeLessThanOrEqual(furthest);
              batch.forEach((end, at) => {
                if (end.port !== port) return;
                expect(results[at]).toBeLessThanOrEqual(now);
                if (end.from === generation) expect(results[at]).toBeGreaterThan(end.from);
              });
              model.set(port, now);
            }
          }
        }),
        { numRuns: propertyRuns },
      );
    });

    test.each(['expired', 'orphaned'] as const)(
      'stay stopped when they are buried as %s later',
      async (reason) => {
        const stopped = tombstone(hash('a'), 'stopped', minutes(1));
        await records.previews.bury([stopped]);
        await peer.previews.bury([tombstone(hash('a'), reason, minutes(2))]);
        expect(await peer.previews.tombstone(hash('a'))).toEqual(stopped);
        await peer.previews.end('run_1', 3000, 0, tombstone(hash('a'), reason, minutes(3)));
        expect(await records.previews.tombstone(hash('a'))).toEqual(stopped);
      },
    );

    test('end as stopped when one burial names a token with several reasons', async () => {
      await records.previews.bury([
        tombstone(hash('a'), 'expired'),
        tombstone(hash('a'), 'stopped'),
        tombstone(hash('a'), 'orphaned'),
        tombstone(hash('b'), 'orphaned'),
        tombstone(hash('b'), 'expired'),
      ]);
      expect(await records.previews.tombstone(hash('a'))).toEqual(tombstone(hash('a'), 'stopped'));
      expect(await records.previews.tombstone(hash('b'))).toEqual(tombstone(hash('b'), 'expired'));
    });

    test('are buried, kept and forgotten as a model says', async () => {
      const stone = fc.record({
        token: fc.nat(3),
        reason: fc.constantFrom(...REASONS),
        minute: fc.nat(5),
      });
      const step = fc.oneof(
        fc.record({ kind: fc.constant('bury' as const), stones: fc.array(stone, { maxLength: 5 }) }),
        fc.record({ kind: fc.constant('end' as const), stones: fc.tuple(stone) }),
        fc.record({ kind: fc.constant('forget' as const), before: fc.nat(6) }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
          await records.previews.forget(minutes(1000));
          const model = new Map<string, Tombstone>();
          for (const each of steps) {
            if (each.kind === 'forget') {
              const old = [...model.values()].filter(({ at }) => at < minutes(each.before));
              for (const { tokenSha256 } of old) model.delete(tokenSha256);
              expect(await records.previews.forget(minutes(each.before))).toBe(old.length);
              continue;
            }
            const stones = each.stones.map(({ token, reason, minute }) =>
              tombstone(hash(token), reason, minutes(minute)),
            );
            for (const stone of stones) {
              const stopped = model.get(stone.tokenSha256)?.reason === 'stopped';
              if (!stopped || stone.reason === 'stopped') model.set(stone.tokenSha256, stone);
            }
            if (each.kind === 'bury') await peer.previews.bury(stones);
            else await peer.previews.end('run_1', 1, 0, stones[0] as Tombstone);
          }
          const tokens = [0, 1, 2, 3].map(hash);
          for (const token of tokens) {
            expect(await records.previews.tombstone(token)).toEqual(model.get(token));
          }
          expect(await records.previews.stoppedAmong(tokens)).toEqual(
            new Set(tokens.filter((token) => model.get(token)?.reason === 'stopped')),
          );
        }),
        { numRuns: propertyRuns },
      );
    });

    test('are buried in opposite orders at once without one burial failing', async () => {
      const stones = Array.from({ length: 300 }, (_, at) => tombstone(hash(at), 'expired'));
      const reversed = stones.toReversed();
      await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          at % 2 ? peer.previews.bury(reversed) : records.previews.bury(stones),
        ),
      );
      expect(await records.previews.forget(minutes(1))).toBe(300);
    });

    test('are forgotten when their tombstone is older than asked, not when it is as old', async () => {
      await records.previews.bury([
        tombstone(hash('a'), 'expired', minutes(1)),
        tombstone(hash('b'), 'stopped', minutes(2)),
        tombstone(hash('c'), 'stopped', minutes(3)),
      ]);
      expect(await records.previews.forget(minutes(2))).toBe(1);
      expect(await peer.previews.tombstone(hash('a'))).toBeUndefined();
      expect(await peer.previews.tombstone(hash('b'))).toBeDefined();
    });

    test('are found by the beginning of their hash', async () => {
      const stone = { ...tombstone(`ab${hash('1').slice(2)}`, 'expired'), targetPort: 3000 };
      await records.previews.bury([stone, tombstone(`ac${hash('1').slice(2)}`, 'stopped')]);
      const prefix = stone.tokenSha256.slice(0, 20);
      expect(await peer.previews.tombstoneNamed(prefix)).toEqual(stone);
      expect(await peer.previews.tombstoneNamed(`f${prefix.slice(1)}`)).toBeUndefined();
    });

    test('are kept while visitors may start them again', async () => {
      const names = ['a', 'b'].map((name) => `${fresh()}${name}`);
      const [kept = '', gone = ''] = names;
      for (const id of names) {
        await records.sandboxes.create(aSandbox(id));
        await records.runs.create(aRun(`run-${id}`, { sandboxId: id }));
      }
      await records.sandboxes.setDesired(kept, 'stopped');
      await records.sandboxes.setDesired(gone, 'destroyed');
      const expired = (name: string, id: string) => ({
        ...tombstone(hash(name), 'expired'),
        runId: `run-${id}`,
      });
      await records.previews.bury([
        { ...expired('1', kept), targetPort: 3000 },
        expired('2', kept),
        { ...expired('3', gone), targetPort: 3000 },
        { ...expired('4', kept), targetPort: 3000, reason: 'orphaned' },
      ]);
      expect(await peer.previews.forget(minutes(9))).toBe(3);
      expect(await peer.previews.tombstone(hash('1'))).toMatchObject({ targetPort: 3000 });
    });
  });
}
