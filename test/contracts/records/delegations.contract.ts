import { beforeEach, describe, expect, test } from '@jest/globals';
import { type DelegationRecord, WHOLE_GRANT } from '#core/delegations/delegation-store.ts';
import type { Records } from '#core/records.ts';
import { minutes, NOON } from './samples.ts';

const BOX = { id: 'box', generation: 1 };

function delegation(id: string, rest: Partial<DelegationRecord> = {}): DelegationRecord {
  return {
    id,
    sandbox: BOX,
    grant: WHOLE_GRANT,
    label: null,
    renewable: true,
    ttl: 60 * 60_000,
    createdAt: NOON,
    expiresAt: minutes(60),
    ...rest,
  };
}

/** The contract of a store of delegations, `peer` being a second instance on the same database. */
export function delegationsContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { wakesPeers }: { wakesPeers: boolean },
): void {
  describe('delegations', () => {
    let here: Records['delegations'];
    let there: Records['delegations'];
    beforeEach(() => {
      const { records, peer } = instances();
      [here, there] = [records.delegations, peer.delegations];
    });

    test('come back as they were made, on every instance', async () => {
      const whole = delegation('dlg_1');
      const limited = delegation('dlg_2', {
        grant: { scopes: ['fs:read'], commands: null, paths: ['/workspace/ä b', '/workspace/"c"'] },
        label: 'the “server”',
        renewable: false,
        createdAt: minutes(1),
      });
      const commands = delegation('dlg_3', {
        grant: { scopes: ['exec'], commands: ['python'], paths: null },
        createdAt: minutes(2),
      });
      for (const each of [whole, limited, commands]) expect(await here.create(each, 10)).toBe(true);
      expect(await there.get('dlg_2')).toEqual(limited);
      expect(await there.get('dlg_4')).toBeUndefined();
      expect(await there.list(BOX, NOON)).toEqual([whole, limited, commands]);
    });

    test('are listed of one sandbox and one generation, while they last', async () => {
      await here.create(delegation('dlg_1', { expiresAt: minutes(10) }), 10);
      await here.create(delegation('dlg_2', { sandbox: { id: 'box', generation: 2 } }), 10);
      await here.create(delegation('dlg_3', { sandbox: { id: 'other', generation: 1 } }), 10);
      const listed = async (at: Date) => (await here.list(BOX, at)).map(({ id }) => id);
      expect(await listed(minutes(9))).toEqual(['dlg_1']);
      expect(await listed(minutes(10))).toEqual([]);
    });

    test('are never more than allowed at a time, however many are made at once', async () => {
      const made = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? here : there).create(delegation(`dlg_${n}`), 5)),
      );
      expect(made.filter((isMade) => isMade)).toHaveLength(5);
      expect(await here.list(BOX, NOON)).toHaveLength(5);
      expect(
        await here.create(delegation('dlg_99', { createdAt: minutes(61), expiresAt: minutes(99) }), 5),
      ).toBe(true);
    });

    test('last for their time again from each renewal on, and never shorter than they would have', async () => {
      await here.create(delegation('dlg_1'), 10);
      expect(await there.renew('dlg_1', BOX, minutes(30))).toEqual(
        delegation('dlg_1', { expiresAt: minutes(90) }),
      );
      expect((await here.renew('dlg_1', BOX, minutes(20)))?.expiresAt).toEqual(minutes(90));
      expect((await there.get('dlg_1'))?.expiresAt).toEqual(minutes(90));
    });

    test.each<[string, Partial<DelegationRecord>, Date]>([
      ['once they have expired', {}, minutes(60)],
      ['where they are not renewable', { renewable: false }, NOON],
      ['of another generation', { sandbox: { id: 'box', generation: 2 } }, NOON],
      ['of another sandbox', { sandbox: { id: 'other', generation: 1 } }, NOON],
    ])('are not renewed %s', async (_why, rest, at) => {
      const made = delegation('dlg_1', rest);
      await here.create(made, 10);
      expect(await here.renew('dlg_1', BOX, at)).toBeUndefined();
      expect(await here.get('dlg_1')).toEqual(made);
    });

    test('are gone once they are revoked, also when they are renewed meanwhile', async () => {
      await here.create(delegation('dlg_1'), 10);
      expect(await here.revoke('dlg_1', { id: 'other', generation: 1 })).toBe(false);
      expect(await here.revoke('dlg_1', { id: 'box', generation: 2 })).toBe(false);
      const renewals = Array.from({ length: 50 }, (_, n) =>
        (n % 2 === 0 ? here : there).renew('dlg_1', BOX, minutes(n)),
      );
      expect(await there.revoke('dlg_1', BOX)).toBe(true);
      expect(await here.get('dlg_1')).toBeUndefined();
      await Promise.all(renewals);
      expect([await here.get('dlg_1'), await there.get('dlg_1')]).toEqual([undefined, undefined]);
      expect(await here.renew('dlg_1', BOX, NOON)).toBeUndefined();
      expect(await here.revoke('dlg_1', BOX)).toBe(false);
    });

    test('are forgotten some time after they have expired', async () => {
      await here.create(delegation('dlg_1'), 10);
      await here.create(delegation('dlg_2', { expiresAt: minutes(61) }), 10);
      expect(await here.forget(minutes(61))).toBe(1);
      expect([await here.get('dlg_1'), (await here.get('dlg_2'))?.id]).toEqual([undefined, 'dlg_2']);
    });

    test('leave a sandbox one token at a time: each rotation counts on', async () => {
      expect(await here.tokenVersion(BOX)).toBe(0);
      const versions = await Promise.all(
        Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? here : there).rotateToken(BOX)),
      );
      expect(versions.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(await there.tokenVersion(BOX)).toBe(10);
      expect(await here.tokenVersion({ id: 'box', generation: 2 })).toBe(0);
      expect(await here.tokenVersion({ id: 'other', generation: 1 })).toBe(0);
    });

    test('wake those who watch their sandbox when one is revoked, or its token is replaced', async () => {
      await here.create(delegation('dlg_1'), 10);
      for (const change of [() => here.revoke('dlg_1', BOX), () => here.rotateToken(BOX)]) {
        const woken = [here, ...(wakesPeers ? [there] : [])].map(async (instance) => {
          const { promise, resolve } = Promise.withResolvers<void>();
          const unwatch = instance.watch('box', resolve);
          return { heard: promise.then(unwatch) };
        });
        const watching = await Promise.all(woken);
        await change();
        await Promise.all(watching.map(({ heard }) => heard));
      }
    });
  });
}
