import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FinishedCheckpoint, NewCheckpoint } from '#core/checkpoints/checkpoint-store.ts';
import type { Records } from '#core/records.ts';
import { ALICE, aRun, BOB, minutes, NOON } from './samples.ts';

const BOX = { id: 'box', generation: 2 };

function begun(id: string, rest: Partial<NewCheckpoint> = {}): NewCheckpoint {
  return {
    id,
    owner: ALICE,
    sandboxId: BOX.id,
    generation: BOX.generation,
    family: 'a',
    parentId: null,
    label: null,
    cause: 'manual',
    createdAt: NOON,
    image: null,
    variables: ['TOKEN', "o'hara"],
    ...rest,
  };
}

const FINISHED: FinishedCheckpoint = {
  files: 3,
  bytes: 5_000_000_000_000,
  storedBytes: 4_000_000_000_000,
  leftOut: 1,
  isConsistent: false,
  manifestSha256: 'f'.repeat(64),
  baseId: 'base',
  packs: { a: 12, b: 5_000_000_000 },
  servers: [{ name: 'web', port: 3000 }],
  memory: { sha256: 'e'.repeat(64), bytes: 3_000_000_000_000 },
};

/** The contract of their records, `peer` being a second instance on the same database. */
export function checkpointRecordsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('checkpoints', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });
    const make = async (id: string, rest: Partial<NewCheckpoint> = {}) => {
      const { parentId = null } = rest;
      const needed = parentId === null ? [] : [parentId];
      expect(await records.checkpoints.begin(begun(id, rest), needed)).toBe(true);
      return records.checkpoints.finish(begun(id, rest), FINISHED);
    };
    const ids = async () => (await peer.checkpoints.list(BOX)).map(({ id }) => id);

    test('are listed once they are finished, as they were put, and move the head', async () => {
      await records.checkpoints.begin(begun('a', { label: 'first' }), []);
      expect(await ids()).toEqual([]);
      expect(await peer.checkpoints.head(BOX)).toBeUndefined();
      const finished = await records.checkpoints.finish(begun('a', { label: 'first' }), FINISHED);
      expect(await peer.checkpoints.get('a')).toEqual(finished);
      expect(finished).toEqual({ ...begun('a', { label: 'first' }), ...FINISHED, state: 'ready' });
      expect(await peer.checkpoints.head(BOX)).toEqual({ family: 'a', checkpointId: 'a', madeId: 'a' });
      await make('b', { parentId: 'a' });
      await make('c', { sandboxId: 'other' });
      await make('d', { generation: 3 });
      expect(await ids()).toEqual(['a', 'b']);
      await peer.checkpoints.setHead(BOX, { family: 'a', checkpointId: 'a', madeId: null });
      expect(await records.checkpoints.head(BOX)).toEqual({ family: 'a', checkpointId: 'a', madeId: null });
    });

    test('that were made by request are listed for their owner, newest first, in pages', async () => {
      const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
      await make('a', { label: 'release', createdAt: at(1) });
      await make('b', { label: 'other', createdAt: at(2), sandboxId: 'elsewhere' });
      await make('c', { cause: 'edits', createdAt: at(3) });
      await make('d', { owner: BOB, createdAt: at(4) });
      await make('e', { createdAt: at(5) });
      await records.checkpoints.markDeleted(['e']);
      await records.checkpoints.begin(begun('f'), []);
      const list = async (owner: typeof ALICE | undefined, filter = {}, page = {}) => {
        const found = await peer.checkpoints.listManual(owner, filter, { limit: 10, ...page });
        return { ids: found.items.map(({ id }) => id), next: found.next };
      };
      expect(await list(ALICE)).toEqual({ ids: ['b', 'a'], next: null });
      expect(await list(undefined)).toEqual({ ids: ['d', 'b', 'a'], next: null });
      expect(await list(ALICE, { name: 'release' })).toEqual({ ids: ['a'], next: null });
      expect(await list(ALICE, { sandboxId: 'elsewhere' })).toEqual({ ids: ['b'], next: null });
      const first = await list(ALICE, {}, { limit: 1 });
      expect(first.ids).toEqual(['b']);
      expect(await list(ALICE, {}, { limit: 1, after: first.next })).toEqual({ ids: ['a'], next: null });
    });

    test('publish their events in the active runs of a sandbox, each once', async () => {
      const event = (key: string) =>
        ({
          sandboxId: BOX.id,
          event: { type: 'checkpoint.created', key, data: { checkpoint_id: key } },
          at: NOON,
        }) as const;
      await records.runs.create(aRun('active', { sandboxId: BOX.id }));
      await records.runs.create(aRun('ended', { sandboxId: BOX.id }));
      await records.runs.create(aRun('elsewhere', { sandboxId: 'other' }));
      await records.runs.complete('ended', NOON);
      let woken = 0;
      const end = records.timeline.watch('active', () => (woken += 1));
      await records.checkpoints.begin(begun('a'), []);
      await records.checkpoints.finish(begun('a'), FINISHED, event('a'));
      const head = { family: 'a', checkpointId: 'a', madeId: null };
      await records.checkpoints.setHead({ id: 'fork', generation: 1 }, head, event('b'));
      await records.checkpoints.setHead({ id: 'fork', generation: 1 }, head, event('b'));
      const page = { after: 0, limit: 10 };
      const read = async (id: string) =>
        (await peer.timeline.read(id, page)).events.map(({ data }) => data['checkpoint_id']);
      expect(await read('active')).toEqual(['a', 'b']);
      expect([await read('ended'), await read('elsewhere')]).toEqual([[], []]);
      expect(woken).toBeGreaterThanOrEqual(2);
      end();
    });

    test('begin only while those that they need are there', async () => {
      expect(await records.checkpoints.begin(begun('b'), ['a'])).toBe(false);
      await make('a');
      await records.checkpoints.begin(begun('b'), ['a']);
      expect(await records.checkpoints.begin(begun('c'), ['a', 'b'])).toBe(false);
      expect(await peer.checkpoints.markDeleted(['a', 'unknown'])).toBe(true);
      expect(await peer.checkpoints.markDeleted(['a'])).toBe(false);
      expect(await records.checkpoints.begin(begun('d'), ['a'])).toBe(false);
      const states = (await records.checkpoints.family('a')).map(({ id, state }) => `${id} ${state}`);
      expect(states.toSorted()).toEqual(['a deleted', 'b creating']);
    });

    test('are counted for their owner until their objects are gone', async () => {
      await make('a');
      await make('b', { owner: BOB });
      await make('c');
      expect(await peer.checkpoints.storedBytes(ALICE)).toBe(8_000_000_000_000);
      await records.checkpoints.markDeleted(['a']);
      expect(await peer.checkpoints.storedBytes(ALICE)).toBe(8_000_000_000_000);
      await records.checkpoints.remove(['a']);
      expect(await peer.checkpoints.storedBytes(ALICE)).toBe(4_000_000_000_000);
      expect(await peer.checkpoints.storedBytes({ user: 'unknown', org: 'none' })).toBe(0);
    });

    test('have no memory once it is removed', async () => {
      const made = await make('a');
      for (let times = 0; times < 2; times += 1) await records.checkpoints.forgetMemory(made);
      expect(await peer.checkpoints.get('a')).toEqual({
        ...made,
        memory: null,
        storedBytes: 1_000_000_000_000,
      });
      expect(await peer.checkpoints.storedBytes(ALICE)).toBe(1_000_000_000_000);
    });

    test('end with their sandbox, and their families are untidy until they are removed', async () => {
      await make('a');
      await make('b', { parentId: 'a' });
      await make('x', { generation: 3, family: 'x' });
      expect(await peer.checkpoints.untidyFamilies(minutes(60))).toEqual([]);
      await records.checkpoints.markAllDeleted(BOX);
      expect(await ids()).toEqual([]);
      expect(await peer.checkpoints.head(BOX)).toBeUndefined();
      expect(await peer.checkpoints.untidyFamilies(NOON)).toEqual(['a']);
      await records.checkpoints.remove(['a', 'b']);
      expect(await peer.checkpoints.untidyFamilies(NOON)).toEqual([]);
      await records.checkpoints.begin(begun('y', { family: 'y' }), []);
      expect(await peer.checkpoints.untidyFamilies(NOON)).toEqual([]);
      expect(await peer.checkpoints.untidyFamilies(minutes(1))).toEqual(['y']);
    });
  });
}
