import { NO_SECRETS, type SandboxSecrets } from '#core/network/network-secrets.ts';
import { type NetworkPolicy, NO_NETWORK } from '#core/network/network-policy.ts';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import type { Reservation } from '#core/sandboxes/sandbox-capacity.ts';
import { POOL_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import { ALICE, BOB, minutes, NOON, aSandbox, THREE } from './samples.ts';

const NETWORK: NetworkPolicy = {
  mode: 'allowlist',
  allow: [{ host: '*.example.com', ports: [443] }],
  deny: [{ host: 'a.example.com' }],
  ask: false,
};

const SECRETS: SandboxSecrets = {
  list: [
    {
      name: 'KEY',
      host: 'api.example.com',
      port: 443,
      inject: 'header',
      value: 'plain-to-see',
      placeholder: 'placeholder',
    },
  ],
  authority: { certificate: 'certificate', key: 'key' },
};

/**
 * The contract of the records of sandbox access and use; `peer` is a second instance on the same
 * database.
 */
export function sandboxLifeContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('the life of sandboxes', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });
    const kinds = (reservations: readonly Reservation[]) => {
      const counts: Record<string, number> = {};
      for (const { kind } of reservations) counts[kind] = (counts[kind] ?? 0) + 1;
      return counts;
    };

    test('changes what a sandbox may reach in its current generation only', async () => {
      const made = aSandbox('box');
      await records.sandboxes.create(made);
      await records.sandboxes.setNetwork({ id: 'box', generation: 2 }, NETWORK);
      expect((await peer.sandboxes.get('box'))?.network).toEqual(NO_NETWORK);
      await records.sandboxes.setNetwork({ id: 'box', generation: 1 }, NETWORK);
      expect((await peer.sandboxes.get('box'))?.network).toEqual(NETWORK);
    });

    test('changes the secrets of a sandbox in its current generation only, and removes them with it', async () => {
      const made = aSandbox('box');
      await records.sandboxes.create(made);
      await records.sandboxes.setSecrets({ ...made, generation: 2 }, SECRETS);
      expect((await peer.sandboxes.get('box'))?.secrets).toEqual(NO_SECRETS);
      await records.sandboxes.setSecrets(made, SECRETS);
      expect((await peer.sandboxes.get('box'))?.secrets).toEqual(SECRETS);
      await records.sandboxes.setObserved('box', 'destroyed');
      expect((await peer.sandboxes.get('box'))?.secrets).toEqual(NO_SECRETS);
    });

    describe('reserved', () => {
      test('come back with everything they were given', async () => {
        const given = aSandbox('box', {
          sessionKey: 's',
          name: 'n',
          tags: { thread_id: '1', 'a.b': '"' },
          resources: { cpu: 0.25, memoryMb: 512, diskMb: 100 },
          network: NETWORK,
          secrets: SECRETS,
          env: { TOKEN: 'a\n"ß' },
        });
        expect(await records.capacity.reserve(given)).toEqual({ kind: 'reserved', sandbox: given });
        expect(await peer.sandboxes.get('box')).toEqual(given);
      });

      test('are made for one of 50 concurrent callers with a session key, and returned to the others', async () => {
        const asked = await Promise.all(
          Array.from({ length: 50 }, (_, at) =>
            (at % 2 ? peer : records).capacity.reserve(aSandbox(`box-${at}`, { sessionKey: 'same' })),
          ),
        );
        expect(kinds(asked)).toEqual({ reserved: 1, same_session: 49 });
        expect(new Set(asked.map((each) => 'sandbox' in each && each.sandbox.id)).size).toBe(1);
      });

      test('stay within the quota for any number of requests at once', async () => {
        const asked = await Promise.all(
          Array.from({ length: 40 }, (_, at) =>
            (at % 2 ? peer : records).capacity.reserve(aSandbox(`box-${at}`), THREE),
          ),
        );
        expect(kinds(asked)).toEqual({ over_quota: 37, reserved: 3 });
      });

      test('count for the quota if they are wanted to run, for this owner alone', async () => {
        await records.sandboxes.create(aSandbox('stopped', { desired: 'stopped' }));
        await records.sandboxes.create(aSandbox('gone', { desired: 'destroyed' }));
        await records.sandboxes.create(aSandbox('other', { owner: BOB }));
        await records.sandboxes.create(aSandbox('one'));
        const most = (sandboxes: number) => ({ ...THREE, quota: { sandboxes } });
        expect(await records.capacity.reserve(aSandbox('two'), most(1))).toEqual({
          kind: 'over_quota',
          used: { sandboxes: 1, cpu: 1, memoryMb: 1_024, diskMb: 4_096 },
        });
        expect(await records.capacity.reserve(aSandbox('two'), most(2))).toMatchObject({ kind: 'reserved' });
      });

      test('keys and names are free again once a sandbox is unwanted, and do not affect other owners', async () => {
        await records.capacity.reserve(aSandbox('first', { sessionKey: 's', name: 'n' }));
        expect(await peer.capacity.reserve(aSandbox('second', { name: 'n' }))).toMatchObject({
          kind: 'same_name',
          sandbox: { id: 'first' },
        });
        expect(
          await peer.capacity.reserve(aSandbox('bobs', { owner: BOB, sessionKey: 's', name: 'n' })),
        ).toMatchObject({ kind: 'reserved' });
        await records.sandboxes.setDesired('first', 'destroyed');
        expect(await peer.capacity.reserve(aSandbox('second', { sessionKey: 's', name: 'n' }))).toMatchObject(
          {
            kind: 'reserved',
          },
        );
      });

      test('reports a taken id, and reuses the id of a destroyed sandbox', async () => {
        await records.sandboxes.create(aSandbox('box'));
        expect(await records.capacity.reserve(aSandbox('box'))).toEqual({ kind: 'id_taken' });
        await records.sandboxes.create(
          aSandbox('old', { desired: 'destroyed', observed: 'destroyed', name: 'x' }),
        );
        expect(await records.capacity.reserve(aSandbox('old'))).toMatchObject({
          kind: 'reserved',
          sandbox: { generation: 2, name: null, stoppedAt: null },
        });
      });
    });

    describe('what is wanted', () => {
      test('moves for one of many who see the same', async () => {
        await records.sandboxes.create(aSandbox('box', { observed: 'running' }));
        const moved = await Promise.all(
          Array.from({ length: 20 }, (_, at) =>
            (at % 2 ? peer : records).sandboxes.moveDesired(
              { id: 'box', generation: 1 },
              'running',
              'stopped',
              minutes(at),
            ),
          ),
        );
        expect(moved.filter(Boolean)).toEqual([true]);
        const { stoppedAt } = (await records.sandboxes.get('box')) ?? {};
        expect(stoppedAt).toEqual(minutes(moved.indexOf(true)));
      });

      test('does not move after newer activity', async () => {
        await records.sandboxes.create(aSandbox('box'));
        await peer.sandboxes.touch({ id: 'box', generation: 1 }, minutes(5));
        const box = { id: 'box', generation: 1 };
        const quiet = (lastActiveAt: Date, heartbeatAt = NOON) =>
          records.sandboxes.moveDesired(box, 'running', 'stopped', minutes(40), {
            lastActiveAt,
            heartbeatAt,
          });
        expect(await quiet(NOON)).toBe(false);
        await peer.sandboxes.heartbeat(box, minutes(5));
        expect(await quiet(minutes(5))).toBe(false);
        expect(await quiet(minutes(5), minutes(5))).toBe(true);
        expect(await records.sandboxes.moveDesired(box, 'stopped', 'running', minutes(41))).toBe(true);
        expect(await peer.sandboxes.get('box')).toMatchObject({
          desired: 'running',
          stoppedAt: null,
          heartbeatAt: minutes(41),
        });
      });

      test('is another generation’s own', async () => {
        await records.sandboxes.create(aSandbox('box'));
        expect(
          await records.sandboxes.moveDesired({ id: 'box', generation: 2 }, 'running', 'stopped', NOON),
        ).toBe(false);
      });
    });

    test('activity never moves back', async () => {
      await records.sandboxes.create(aSandbox('box'));
      const box = { id: 'box', generation: 1 };
      expect((await records.sandboxes.get('box'))?.lastActiveAt).toEqual(NOON);
      await records.sandboxes.touch(box, minutes(5));
      await peer.sandboxes.touch(box, minutes(3));
      expect((await records.sandboxes.get('box'))?.lastActiveAt).toEqual(minutes(5));
    });

    test('counts a heartbeat as activity, never moves it back, and ignores it for a sandbox that is not wanted to run', async () => {
      const box = { id: 'box', generation: 1 };
      await records.sandboxes.create(aSandbox('box', { ttlSeconds: 90 }));
      expect(await peer.sandboxes.get('box')).toMatchObject({ ttlSeconds: 90, heartbeatAt: NOON });
      await records.sandboxes.touch(box, minutes(7));
      const five = { heartbeatAt: minutes(5), lastActiveAt: minutes(7), ttlSeconds: 90 };
      expect(await records.sandboxes.heartbeat(box, minutes(5))).toMatchObject(five);
      expect(await peer.sandboxes.heartbeat(box, minutes(3))).toMatchObject(five);
      expect(await peer.sandboxes.heartbeat({ id: 'box', generation: 2 }, minutes(9))).toBeUndefined();
      await records.sandboxes.moveDesired(box, 'running', 'stopped', minutes(8));
      expect(await peer.sandboxes.heartbeat(box, minutes(9))).toBeUndefined();
      expect(await records.sandboxes.get('box')).toMatchObject(five);
    });

    test('has a time-out that can be changed, and that a stop removes', async () => {
      const box = { id: 'box', generation: 1 };
      await records.sandboxes.create(aSandbox('box', { timeoutAt: minutes(5), onTimeout: 'delete' }));
      expect(await peer.sandboxes.get('box')).toMatchObject({ timeoutAt: minutes(5), onTimeout: 'delete' });
      await records.sandboxes.setTimeout(box, minutes(9), 'stop');
      await records.sandboxes.setTimeout({ id: 'box', generation: 2 }, minutes(7), 'delete');
      expect(await peer.sandboxes.get('box')).toMatchObject({ timeoutAt: minutes(9), onTimeout: 'stop' });
      await records.sandboxes.moveDesired(box, 'running', 'stopped', minutes(8));
      expect(await peer.sandboxes.get('box')).toMatchObject({ timeoutAt: null, onTimeout: 'stop' });
      await records.sandboxes.setTimeout(box, null, 'stop');
      expect((await peer.sandboxes.get('box'))?.timeoutAt).toBeNull();
    });

    test('lists hold one’s own, filtered, newest first, without the pool’s', async () => {
      const made = [
        aSandbox('a', { createdAt: minutes(1), tags: { thread_id: '1', team: 'x' }, observed: 'running' }),
        aSandbox('b', { createdAt: minutes(2), tags: { thread_id: '2' }, name: 'bee' }),
        aSandbox('c', { createdAt: minutes(3), tags: { thread_id: '1' }, sessionKey: 'key' }),
        aSandbox('d', { createdAt: minutes(4), owner: BOB, tags: { thread_id: '1' } }),
        aSandbox('e', { createdAt: minutes(5), owner: POOL_OWNER, observed: 'running' }),
        aSandbox('f', { createdAt: minutes(6), desired: 'destroyed', observed: 'destroyed' }),
      ];
      for (const each of made) await records.sandboxes.create(each);
      const ids = async (
        ...[owner, filter]: [typeof ALICE | undefined, Parameters<typeof records.sandboxes.list>[1]]
      ) => (await records.sandboxes.list(owner, filter, { limit: 10 })).items.map(({ id }) => id);
      expect(await ids(ALICE, {})).toEqual(['c', 'b', 'a']);
      expect(await ids(undefined, {})).toEqual(['d', 'c', 'b', 'a']);
      expect(await ids(ALICE, { tags: { thread_id: '1' } })).toEqual(['c', 'a']);
      expect(await ids(ALICE, { tags: { thread_id: '1', team: 'x' } })).toEqual(['a']);
      expect(await ids(ALICE, { state: 'running' })).toEqual(['a']);
      expect(await ids(ALICE, { name: 'bee' })).toEqual(['b']);
      expect(await ids(ALICE, { sessionKey: 'key' })).toEqual(['c']);
      expect(await ids(ALICE, { tags: { "x' or 1=1": '1' } })).toEqual([]);
      const first = await records.sandboxes.list(ALICE, {}, { limit: 2 });
      expect(first.items.map(({ id }) => id)).toEqual(['c', 'b']);
      const rest = await peer.sandboxes.list(ALICE, {}, { limit: 2, after: first.next ?? '' });
      expect([rest.items.map(({ id }) => id), rest.next]).toEqual([['a'], null]);
    });

    test('takes a waiting sandbox with the options and limits of the taker alone', async () => {
      const pool = (id: string) => aSandbox(id, { owner: POOL_OWNER, observed: 'running' });
      for (const id of ['one', 'two', 'three']) await records.sandboxes.create(pool(id));
      const most = (sandboxes: number) => ({ quotaLimits: { ...THREE, quota: { sandboxes } } });
      const sandboxOptions = {
        sessionKey: 's',
        name: 'n',
        tags: { a: 'b' },
        env: { KEY: 'value' },
        ttlSeconds: 60,
        timeoutAt: minutes(30),
        onTimeout: 'delete' as const,
        resources: {},
        network: NETWORK,
        ...most(1),
      };
      const take = (more: object = {}) =>
        records.capacity.takeWarm('here', POOL_OWNER, ALICE, minutes(1), {
          sandboxOptions: { ...sandboxOptions, ...more },
        });
      expect(await take()).toMatchObject({
        sessionKey: 's',
        name: 'n',
        tags: { a: 'b' },
        ttlSeconds: 60,
        timeoutAt: minutes(30),
        onTimeout: 'delete',
        heartbeatAt: minutes(1),
        env: { KEY: 'value' },
        network: NETWORK,
        owner: ALICE,
      });
      expect(await take(most(9))).toBeUndefined();
      expect(await take({ sessionKey: null, name: null })).toBeUndefined();
      expect(await take({ sessionKey: null, name: null, ...most(2) })).toMatchObject({ owner: ALICE });
    });
  });
}
