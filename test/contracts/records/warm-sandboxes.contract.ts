import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { ALICE, BOB, minutes, NOON, aSandbox } from './samples.ts';

/**
 * The contract of sandboxes that wait for an owner, `peer` being a second instance on the same
 * database.
 */
export function warmSandboxesContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('warm sandboxes', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });
    const POOL = { user: 'pool', org: '' };
    const warm = (id: string, rest: Partial<SandboxRecord> = {}) =>
      aSandbox(id, { owner: POOL, observed: 'running', ...rest });
    const leave = async (...given: SandboxRecord[]) => {
      for (const each of given) await records.sandboxes.create(each);
    };

    test('go to the caller that takes them, the oldest first, and count as created then', async () => {
      await leave(
        warm('second', { createdAt: minutes(2) }),
        warm('first', { createdAt: minutes(1), image: null }),
      );
      const taken = warm('first', { owner: ALICE, observed: 'creating', createdAt: minutes(5) });
      expect(await records.capacity.takeWarm('here', POOL, ALICE, minutes(5))).toEqual(taken);
      expect(await peer.sandboxes.get('first')).toEqual(taken);
      expect(await peer.capacity.wantedBy(POOL, 'here')).toEqual([warm('second', { createdAt: minutes(2) })]);
    });

    test('are taken when they run, are wanted to, and are in this place; no others', async () => {
      await leave(
        warm('creating', { observed: 'creating' }),
        warm('unwanted', { desired: 'destroyed' }),
        warm('destroyed', { observed: 'destroyed' }),
        warm('elsewhere', { place: 'there' }),
        warm('of-bob', { owner: BOB }),
      );
      expect(await records.capacity.takeWarm('here', POOL, ALICE, NOON)).toBeUndefined();
      expect((await records.capacity.takeWarm('there', POOL, ALICE, NOON))?.id).toBe('elsewhere');
    });

    test('are taken by name, where one is named', async () => {
      await leave(warm('first', { createdAt: minutes(1) }), warm('second', { createdAt: minutes(2) }));
      expect((await records.capacity.takeWarm('here', POOL, ALICE, NOON, { id: 'second' }))?.id).toBe(
        'second',
      );
      expect(await records.capacity.takeWarm('here', POOL, ALICE, NOON, { id: 'second' })).toBeUndefined();
      expect((await records.sandboxes.get('first'))?.owner).toEqual(POOL);
    });

    test('run at once for an owner who needs nothing more', async () => {
      await leave(warm('ready'));
      const sandboxOptions = { sessionKey: null, name: null, tags: {}, env: {}, resources: {} };
      const taken = await records.capacity.takeWarm('here', POOL, ALICE, NOON, {
        sandboxOptions: { ...sandboxOptions, runsAtOnce: true },
      });
      expect(taken).toMatchObject({ id: 'ready', owner: ALICE, observed: 'running' });
      expect(await peer.sandboxes.get('ready')).toEqual(taken);
    });

    test('are each given once, by two instances at once', async () => {
      await leave(...Array.from({ length: 20 }, (_, at) => warm(`box-${at}`)));
      const taken = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          (at % 2 ? peer : records).capacity.takeWarm(
            'here',
            POOL,
            { user: `user-${at}`, org: 'acme' },
            NOON,
          ),
        ),
      );
      const ids = taken.flatMap((sandbox) => (sandbox === undefined ? [] : [sandbox.id]));
      expect(new Set(ids).size).toBe(ids.length);
      const left = await records.capacity.wantedBy(POOL, 'here');
      expect(ids.length + left.length).toBe(20);
      for (const sandbox of taken) {
        if (sandbox !== undefined) expect(await records.sandboxes.get(sandbox.id)).toEqual(sandbox);
      }
    });

    test('are listed oldest first and counted among all that are wanted to run', async () => {
      await leave(
        warm('new', { createdAt: minutes(2), observed: 'creating' }),
        warm('old', { createdAt: minutes(1) }),
        warm('stopped', { desired: 'stopped' }),
        warm('lost', { observed: 'destroyed' }),
        warm('elsewhere', { place: 'there' }),
        aSandbox('hers'),
      );
      const listed = await peer.capacity.wantedBy(POOL, 'here');
      expect(listed.map(({ id }) => id)).toEqual(['old', 'new']);
      expect(await peer.capacity.countWanted('here')).toBe(3);
    });
  });
}
