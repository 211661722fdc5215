import { describe, expect, test } from '@jest/globals';
import { createSecretKey } from 'node:crypto';
import { CompactEncrypt, EncryptJWT, SignJWT } from 'jose';
import { deriveKeySet } from '#protocol/guest/key-set.ts';
import { type Jwks } from '#protocol/settings/shared-values.ts';
import { createSeals } from '#adapters/auth/sealed-texts.ts';

const key = (kid: string): Jwks['keys'][number] => ({
  kty: 'oct',
  kid,
  k: Buffer.alloc(32, kid).toString('base64url'),
});
const keysOf = (...kids: readonly string[]) => deriveKeySet({ keys: kids.map(key) });
const sealsOf = (...kids: readonly string[]) => createSeals(keysOf(...kids));

const NOW = new Date('2030-03-01T12:00:00Z');
const LATER = new Date('2030-03-01T13:00:00Z');
const CONTENT = { person: 'alice' };

describe('what a browser keeps for us', () => {
  test('is opened as it was sealed, until it expires', async () => {
    const seals = sealsOf('a');
    const sealed = await seals.seal('porthole-session', CONTENT, LATER);
    expect(await seals.open('porthole-session', sealed, NOW)).toEqual({
      ...CONTENT,
      exp: LATER.getTime() / 1_000,
    });
    expect(await seals.open('porthole-session', sealed, LATER)).toBeUndefined();
  });

  test('says nothing of what is in it', async () => {
    const sealed = await sealsOf('a').seal('porthole-session', CONTENT, LATER);
    expect(sealed.split('.').map((part) => Buffer.from(part, 'base64url').toString())).not.toContainEqual(
      expect.stringContaining('alice'),
    );
  });

  test('is sealed with another nonce each time', async () => {
    const seals = sealsOf('a');
    const sealed = await Promise.all(
      Array.from({ length: 500 }, () => seals.seal('porthole-session', CONTENT, LATER)),
    );
    expect(new Set(sealed.map((each) => each.split('.')[2])).size).toBe(500);
  });

  test('is of its kind alone', async () => {
    const seals = sealsOf('a');
    const sealed = await seals.seal('porthole-sign-in', CONTENT, LATER);
    expect(await seals.open('porthole-session', sealed, NOW)).toBeUndefined();
    expect(await seals.open('porthole-sign-in', sealed, NOW)).toMatchObject(CONTENT);
  });

  test('outlives a rotation of the keys, and not its own key', async () => {
    const sealed = await sealsOf('a').seal('porthole-session', CONTENT, LATER);
    expect(await sealsOf('b', 'a').open('porthole-session', sealed, NOW)).toMatchObject(CONTENT);
    expect(await sealsOf('b').open('porthole-session', sealed, NOW)).toBeUndefined();
  });

  test('is sealed with the newest key', async () => {
    const sealed = await sealsOf('b', 'a').seal('porthole-session', CONTENT, LATER);
    expect(await sealsOf('b').open('porthole-session', sealed, NOW)).toMatchObject(CONTENT);
  });

  test.each([0, 2, 3, 4])('rejects a seal with one bit changed in part %i', async (part) => {
    const seals = sealsOf('a');
    const parts = (await seals.seal('porthole-session', CONTENT, LATER)).split('.');
    const bytes = Buffer.from(parts[part] ?? '', 'base64url');
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    parts[part] = bytes.toString('base64url');
    expect(await seals.open('porthole-session', parts.join('.'), NOW)).toBeUndefined();
  });

  test.each(['', '.', '....', 'a.b.c.d.e', '\0', 'x'.repeat(5_000), '__proto__'])(
    'is nothing where it is none: %j',
    async (sealed) => {
      expect(await sealsOf('a').open('porthole-session', sealed, NOW)).toBeUndefined();
    },
  );

  describe('accepts only seals of the right key and format', () => {
    const keys = keysOf('a');
    const seals = createSeals(keys);
    const header = { alg: 'dir', enc: 'A256GCM', typ: 'porthole-session', kid: 'a' };
    const jwt = () => new EncryptJWT(CONTENT).setExpirationTime(LATER);
    test.each<[string, () => Promise<string>]>([
      ['with the key for agent tokens', () => jwt().setProtectedHeader(header).encrypt(keys.current.agent)],
      [
        'under a kid that there is not',
        () =>
          jwt()
            .setProtectedHeader({ ...header, kid: '__proto__' })
            .encrypt(keys.current.session),
      ],
      [
        'without a kid',
        () =>
          jwt()
            .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: 'porthole-session' })
            .encrypt(keys.current.session),
      ],
      [
        'without an end',
        () => new EncryptJWT(CONTENT).setProtectedHeader(header).encrypt(keys.current.session),
      ],
      [
        'with the key wrapped',
        () =>
          jwt()
            .setProtectedHeader({ ...header, alg: 'A256KW' })
            .encrypt(keys.current.session),
      ],
      [
        'with a password that takes long to try',
        () =>
          new CompactEncrypt(Buffer.from('{}'))
            .setProtectedHeader({ ...header, alg: 'PBES2-HS256+A128KW' })
            .setKeyManagementParameters({ p2c: 2_000 })
            .encrypt(Buffer.from('password')),
      ],
      [
        'signed and not sealed',
        () =>
          new SignJWT(CONTENT)
            .setProtectedHeader({ alg: 'HS256', typ: 'porthole-session', kid: 'a' })
            .setExpirationTime(LATER)
            .sign(createSecretKey(Buffer.alloc(32, 'a'))),
      ],
    ])('not %s', async (_name, make) => {
      expect(await seals.open('porthole-session', await make(), NOW)).toBeUndefined();
    });

    test('opens a seal of the right key and format', async () => {
      const sealed = await jwt().setProtectedHeader(header).encrypt(keys.current.session);
      expect(await seals.open('porthole-session', sealed, NOW)).toMatchObject(CONTENT);
    });
  });
});
