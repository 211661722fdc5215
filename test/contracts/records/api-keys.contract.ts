import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiKeyRecord } from '#core/auth/api-key-store.ts';
import type { Records } from '#core/records.ts';
import { ALICE, BOB, minutes, NOON } from './samples.ts';

function apiKey(id: string, rest: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  return {
    id,
    owner: ALICE,
    name: 'CI',
    scope: 'full',
    admin: false,
    issuer: null,
    prefix: 'porthole_0a0a0a0a',
    digest: `digest of ${id}`,
    createdAt: NOON,
    expiresAt: minutes(60),
    lastUsedAt: null,
    ...rest,
  };
}

/** The contract of a store of API keys, `peer` being a second instance on the same database. */
export function apiKeysContract(
  instances: () => { readonly records: Records; readonly peer: Records },
  { wakesPeers }: { wakesPeers: boolean },
): void {
  describe('api keys', () => {
    let here: Records['apiKeys'];
    let there: Records['apiKeys'];
    beforeEach(() => {
      const { records, peer } = instances();
      [here, there] = [records.apiKeys, peer.apiKeys];
    });

    test('returns keys as they were made, on every instance, by id and by digest', async () => {
      const plain = apiKey('key_1');
      const other = apiKey('key_2', {
        name: 'the “server”',
        scope: 'read',
        admin: true,
        issuer: 'https://issuer.test',
        lastUsedAt: minutes(1),
      });
      for (const each of [plain, other]) expect(await here.create(each, 10)).toBe(true);
      expect([await there.get('key_1'), await there.get('key_2')]).toEqual([plain, other]);
      expect(await there.findByDigest('digest of key_2')).toEqual(other);
      expect([await there.get('key_3'), await there.findByDigest('')]).toEqual([undefined, undefined]);
    });

    test('lists those of an owner or of everyone, newest first, expired ones included', async () => {
      await here.create(apiKey('key_1', { expiresAt: minutes(-1) }), 10);
      await here.create(apiKey('key_2', { createdAt: minutes(1) }), 10);
      await here.create(apiKey('key_3', { owner: BOB }), 10);
      await here.create(apiKey('key_4', { owner: { user: 'alice', org: 'globex' } }), 10);
      const ids = async (owner?: typeof ALICE) => (await there.list(owner)).map(({ id }) => id);
      expect([await ids(ALICE), await ids(BOB), await ids()]).toEqual([
        ['key_2', 'key_1'],
        ['key_3'],
        ['key_2', 'key_4', 'key_3', 'key_1'],
      ]);
    });

    test('keeps to the limit of an owner, however many are made at once', async () => {
      const made = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? here : there).create(apiKey(`key_${n}`), 5)),
      );
      expect(made.filter((isMade) => isMade)).toHaveLength(5);
      expect(await here.list(ALICE)).toHaveLength(5);
      expect(await here.create(apiKey('key_99', { owner: BOB }), 5)).toBe(true);
    });

    test('writes the last use, unless a later one is known', async () => {
      await here.create(apiKey('key_1'), 10);
      const use = async (at: Date, notSince: Date) => {
        await there.markUsed('key_1', at, notSince);
        return (await here.get('key_1'))?.lastUsedAt;
      };
      expect(await use(minutes(5), minutes(4))).toEqual(minutes(5));
      expect(await use(minutes(5.5), minutes(4.5))).toEqual(minutes(5));
      expect(await use(minutes(6), minutes(5))).toEqual(minutes(6));
      await there.markUsed('key_2', minutes(5), minutes(4));
      expect(await here.get('key_2')).toBeUndefined();
    });

    test('finds no revoked key, on any instance, also when it is used meanwhile', async () => {
      await here.create(apiKey('key_1'), 10);
      const uses = Array.from({ length: 20 }, (_, n) => here.markUsed('key_1', minutes(n), minutes(n)));
      expect(await there.revoke('key_1')).toBe(true);
      expect(await here.findByDigest('digest of key_1')).toBeUndefined();
      await Promise.all(uses);
      expect([await here.get('key_1'), await there.get('key_1')]).toEqual([undefined, undefined]);
      expect(await here.revoke('key_1')).toBe(false);
    });

    test('forgets those that expired before', async () => {
      await here.create(apiKey('key_1'), 10);
      await here.create(apiKey('key_2', { expiresAt: minutes(61) }), 10);
      expect(await there.forget(minutes(61))).toBe(1);
      expect([await here.get('key_1'), (await here.get('key_2'))?.id]).toEqual([undefined, 'key_2']);
    });

    test('wakes those who watch a key when it is revoked', async () => {
      await here.create(apiKey('key_1'), 10);
      const heard = [here, ...(wakesPeers ? [there] : [])].map((instance) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const unwatch = instance.watch('key_1', resolve);
        return promise.then(unwatch);
      });
      await here.revoke('key_1');
      await Promise.all(heard);
    });
  });
}
