import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Owner } from '#core/shared/clock-and-ids.ts';
import type { Page, PageRequest } from '#core/shared/reads.ts';
import type { EndReason, Tombstone } from '#core/previews/preview-records.ts';
import type { Records } from '#core/shared/records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { type Missing, suite } from '#test/support/suite.ts';
import { approvalsContract } from './records/approvals.contract.ts';
import { endedSessionsContract } from './records/ended-sessions.contract.ts';
import { editorContract } from './records/editor.contract.ts';
import { ALICE, BOB, fresh, hash, minutes, NOON, aRun, aSandbox, tombstone } from './records/samples.ts';
import { archivesContract } from './records/archives.contract.ts';
import { viewersContract } from './records/viewers.contract.ts';
import { inboxContract } from './records/inbox.contract.ts';
import { looksContract } from './records/looks.contract.ts';
import { imagesContract } from './records/images.contract.ts';
import { listsContract } from './records/lists.contract.ts';
import { delegationsContract } from './records/delegations.contract.ts';
import { sandboxEventsContract } from './records/sandbox-events.contract.ts';
import { skillsContract } from './records/skills.contract.ts';
import { timelineContract } from './records/timeline.contract.ts';
import { quotasContract } from './records/quotas.contract.ts';
import { sandboxLifeContract } from './records/sandbox-life.contract.ts';
import { warmSandboxesContract } from './records/warm-sandboxes.contract.ts';

/** One empty database, and instances on it. */
export interface RecordsFixture {
  /** An independent instance, like that of another server. The fixture closes it. */
  open(): Records;
  dispose(): Promise<void>;
}

const REASONS: readonly EndReason[] = ['stopped', 'expired', 'max_lifetime', 'orphaned'];

async function allPages<T>(list: (page: PageRequest) => Promise<Page<T>>, limit: number): Promise<T[][]> {
  const pages: T[][] = [];
  let after: string | undefined;
  do {
    const page = await list({ limit, after });
    pages.push([...page.items]);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return pages;
}

export interface RecordsContractOptions {
  /** How often each property is tried. */
  readonly runs: number;
  /** Whether several instances share the database. */
  readonly peers: boolean;
  /** Whether an append on one of them notifies the watchers of another. */
  readonly wakesPeers: boolean;
}

/** The contract of a Records adapter, `peer` being a second instance on the same database. */
export function recordsContract(
  name: string,
  missing: Missing,
  fixture: () => Promise<RecordsFixture>,
  { runs: propertyRuns, peers, wakesPeers }: RecordsContractOptions,
): void {
  suite(name, missing, () => {
    let database: RecordsFixture;
    let records: Records;
    let peer: Records;

    beforeEach(async () => {
      database = await fixture();
      records = database.open();
      peer = peers ? database.open() : records;
      await records.migrate();
    });
    afterEach(() => database.dispose());

    describe('runs', () => {
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
    });

    describe('sandboxes', () => {
      test('come back as they were created', async () => {
        const given = aSandbox('box', { image: 'node:24', createdAt: minutes(1), owner: BOB });
        expect(await records.sandboxes.create(given)).toBe(1);
        expect(await peer.sandboxes.get('box')).toEqual(given);
        expect(await peer.sandboxes.get('other')).toBeUndefined();
      });

      test.each(['creating', 'running', 'stopped'] as const)(
        'keep an id that is taken by a %s one',
        async (observed) => {
          const first = aSandbox('box', { observed, desired: 'destroyed' });
          await records.sandboxes.create(first);
          expect(await peer.sandboxes.create(aSandbox('box', { owner: BOB }))).toBeUndefined();
          expect(await peer.sandboxes.get('box')).toEqual(first);
        },
      );

      test('take over the id of a destroyed one, with nothing left of it', async () => {
        await records.sandboxes.create(
          aSandbox('box', { desired: 'destroyed', observed: 'destroyed', image: 'old' }),
        );
        const second = aSandbox('box', { owner: BOB, createdAt: minutes(5) });
        expect(await peer.sandboxes.create(second)).toBe(2);
        expect(await records.sandboxes.get('box')).toEqual({ ...second, generation: 2 });
        expect(await records.sandboxes.destroyedAmong(['box'])).toEqual(new Set());
      });

      test.each(['a fresh', 'a destroyed'])('give %s id to one of many who create at once', async (which) => {
        if (which === 'a destroyed') {
          await records.sandboxes.create(aSandbox('box', { observed: 'destroyed' }));
        }
        const given = Array.from({ length: 40 }, (_, at) => aSandbox('box', { image: `image-${at}` }));
        const results = await Promise.all(
          given.map((each, at) => (at % 2 ? peer : records).sandboxes.create(each)),
        );
        const generation = which === 'a destroyed' ? 2 : 1;
        expect(results.filter(Boolean)).toEqual([generation]);
        expect(await records.sandboxes.get('box')).toEqual({
          ...given[results.indexOf(generation)],
          generation,
        });
      });

      test('are not touched by what was meant for the one before them', async () => {
        await records.sandboxes.create(aSandbox('box', { observed: 'destroyed' }));
        const second = await peer.sandboxes.create(aSandbox('box'));
        await records.sandboxes.setDesired('box', 'destroyed', 1);
        await records.sandboxes.setObserved('box', 'destroyed', 1);
        expect(await peer.sandboxes.get('box')).toMatchObject({ desired: 'running', observed: 'creating' });
        await records.sandboxes.setObserved('box', 'running', second);
        expect(await peer.sandboxes.get('box')).toMatchObject({ observed: 'running' });
      });

      test('keep what is wanted apart from what was seen', async () => {
        await records.sandboxes.create(aSandbox('box'));
        await records.sandboxes.setDesired('box', 'stopped');
        await peer.sandboxes.setObserved('box', 'running');
        expect(await peer.sandboxes.get('box')).toEqual(
          aSandbox('box', { desired: 'stopped', observed: 'running' }),
        );
      });

      test('stay unknown when the state of an unknown id is set', async () => {
        await records.sandboxes.setDesired('none', 'running');
        await records.sandboxes.setObserved('none', 'running');
        expect(await records.sandboxes.get('none')).toBeUndefined();
      });

      test('are listed for one installation only when that is requested', async () => {
        await records.sandboxes.create(aSandbox('ours'));
        await records.sandboxes.create(aSandbox('theirs', { place: 'there' }));
        const { items } = await records.sandboxes.live({ limit: 10 }, 'there');
        expect(items).toEqual([aSandbox('theirs', { place: 'there' })]);
      });

      test('live until they are both wanted and seen destroyed', async () => {
        const states = [
          ['running', 'creating'],
          ['running', 'running'],
          ['stopped', 'stopped'],
          ['destroyed', 'running'],
          ['running', 'destroyed'],
          ['destroyed', 'destroyed'],
        ] as const;
        for (const [at, [desired, observed]] of states.entries()) {
          await records.sandboxes.create(
            aSandbox(`box-${at}`, { desired, observed, createdAt: minutes(at) }),
          );
        }
        const pages = await allPages((page) => records.sandboxes.live(page), 2);
        expect(pages.map((items) => items.map(({ id }) => id))).toEqual([
          ['box-4', 'box-3'],
          ['box-2', 'box-1'],
          ['box-0'],
        ]);
      });

      test('are known to be destroyed only once that was seen', async () => {
        await records.sandboxes.create(aSandbox('gone', { desired: 'destroyed', observed: 'destroyed' }));
        await records.sandboxes.create(aSandbox('lost', { observed: 'destroyed' }));
        await records.sandboxes.create(aSandbox('going', { desired: 'destroyed', observed: 'running' }));
        await records.sandboxes.create(aSandbox('stopped', { desired: 'stopped', observed: 'stopped' }));
        expect(await peer.sandboxes.destroyedAmong(['gone', 'lost', 'going', 'stopped', 'unknown'])).toEqual(
          new Set(['gone', 'lost']),
        );
      });
    });

    describe('previews', () => {
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
    });

    test('runs are found by their sandbox', async () => {
      for (const id of ['run_2', 'run_1']) await records.runs.create(aRun(id));
      await records.runs.create(aRun('run_3', { sandboxId: 'other' }));
      await records.runs.complete('run_2', NOON);
      expect(await peer.runs.inSandbox('box')).toEqual(['run_1', 'run_2']);
      expect(await peer.runs.inSandbox('none')).toEqual([]);
    });

    timelineContract(() => ({ records, peer }), { runs: propertyRuns, wakesPeers });
    sandboxEventsContract(() => ({ records, peer }), { wakesPeers });
    delegationsContract(() => ({ records, peer }), { wakesPeers });
    warmSandboxesContract(() => ({ records, peer }));
    sandboxLifeContract(() => ({ records, peer }));
    editorContract(() => ({ records, peer }));
    imagesContract(() => ({ records, peer }));
    listsContract(() => ({ records, peer }));
    skillsContract(() => ({ records, peer }));
    archivesContract(() => ({ records, peer }));
    looksContract(() => ({ records, peer }));
    inboxContract(() => ({ records, peer }));
    viewersContract(() => ({ records, peer }));
    endedSessionsContract(() => ({ records, peer }));
    quotasContract(() => ({ records, peer }));
    approvalsContract(() => ({ records, peer }), { runs: propertyRuns, wakesPeers });

    describe('lists of ids', () => {
      test('may be empty', async () => {
        expect(await records.runs.completedAmong([])).toEqual(new Set());
        expect(await records.sandboxes.destroyedAmong([])).toEqual(new Set());
        expect(await records.previews.stoppedAmong([])).toEqual(new Set());
        await records.previews.bury([]);
        expect(await records.previews.forget(minutes(1000))).toBe(0);
      });

      test('may be of 10,000', async () => {
        const tokens = Array.from({ length: 10_000 }, (_, at) => hash(at));
        await records.previews.bury(
          tokens.map((token, at) => tombstone(token, at % 2 ? 'stopped' : 'expired')),
        );
        await records.runs.create(aRun(tokens[9_999] as string));
        await records.runs.complete(tokens[9_999] as string, NOON);
        await records.sandboxes.create(aSandbox(tokens[5_000] as string, { observed: 'destroyed' }));
        expect(await peer.previews.stoppedAmong(tokens)).toEqual(new Set(tokens.filter((_, at) => at % 2)));
        expect(await peer.runs.completedAmong(tokens)).toEqual(new Set([tokens[9_999]]));
        expect(await peer.sandboxes.destroyedAmong(tokens)).toEqual(new Set([tokens[5_000]]));
        expect(await peer.previews.forget(minutes(1))).toBe(10_000);
      });

      test('may hold quotes, braces, commas and backslashes', async () => {
        const ids = ['"', "'", '{a,b}', '\\', 'null', '', '[1]', '🛳️'];
        for (const id of ids) await records.runs.create(aRun(id));
        for (const id of ids) await records.runs.complete(id, NOON);
        expect(await records.runs.completedAmong(ids)).toEqual(new Set(ids));
      });
    });

    describe('the database', () => {
      test('refuses a NUL character in any text, by name', async () => {
        const refusal = {
          code: 'invalid_request',
          message: 'a text holds a NUL character (U+0000), which cannot be stored: remove it',
        };
        await expect(records.runs.get('a\0b')).rejects.toMatchObject(refusal);
        await expect(records.runs.create(aRun('run_1', { title: 'a\0' }))).rejects.toMatchObject(refusal);
        await expect(records.runs.completedAmong(['a', '\0'])).rejects.toMatchObject(refusal);
        await expect(
          records.previews.bury([tombstone(hash('a'), 'expired'), tombstone('\0', 'expired')]),
        ).rejects.toMatchObject(refusal);
        expect(await records.runs.get('run_1')).toBeUndefined();
        expect(await records.previews.tombstone(hash('a'))).toBeUndefined();
      });

      test('migrates again without a change', async () => {
        await records.runs.create(aRun('run_1'));
        await peer.migrate();
        await records.migrate();
        expect(await peer.runs.get('run_1')).toEqual(aRun('run_1'));
      });

      test('finishes what it has begun before it closes, and then takes nothing more', async () => {
        const ends = Promise.all([
          records.previews.end('run_1', 1, 0, tombstone(hash('a'), 'stopped')),
          records.previews.end('run_1', 2, 0, tombstone(hash('b'), 'stopped')),
        ]);
        const [results] = await Promise.all([ends, records.close(), records.close()]);
        expect(results).toEqual([1, 1]);
        await expect(records.runs.get('run_1')).rejects.toMatchObject({
          code: 'service_unavailable',
          message: 'the records are closed: the server is stopping',
        });
      });

      test('closes without ever having been used', async () => {
        await database.open().close();
      });
    });

    if (!peers) return;

    describe('several instances', () => {
      test('remember everything after all of them were closed', async () => {
        await records.runs.create(aRun('run_1'));
        await records.sandboxes.create(aSandbox('box'));
        await records.previews.end('run_1', 3000, 0, tombstone(hash('a'), 'stopped'));
        await records.close();
        await peer.close();
        const next = database.open();
        await next.migrate();
        expect(await next.runs.get('run_1')).toEqual(aRun('run_1'));
        expect(await next.sandboxes.get('box')).toEqual(aSandbox('box'));
        expect(await next.previews.generation('run_1', 3000)).toBe(1);
        expect(await next.previews.stoppedAmong([hash('a')])).toEqual(new Set([hash('a')]));
      });

      test('migrate an empty database at once', async () => {
        const empty = await fixture();
        try {
          const instances = Array.from({ length: 6 }, () => empty.open());
          await Promise.all(instances.map((instance) => instance.migrate()));
          await Promise.all(instances.map((instance, at) => instance.runs.create(aRun(`run_${at}`))));
          expect((await empty.open().runs.list(undefined, { limit: 10 })).items).toHaveLength(6);
        } finally {
          await empty.dispose();
        }
      });
    });
  });
}
