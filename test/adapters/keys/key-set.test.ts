import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deriveKeySet } from '#protocol/guest/key-set.ts';
import { JwksSchema } from '#protocol/settings/shared-values.ts';
import { loadOrCreateJwks } from '#adapters/auth/key-file.ts';
import { createSignedTokens } from '#adapters/auth/signed-tokens.ts';

const key = (kid: string, fill = kid) => ({
  kty: 'oct' as const,
  kid,
  k: Buffer.alloc(32, fill).toString('base64url'),
});

describe('the key set of a machine', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-keys-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('is made once, for its owner alone, with 256 random bits', async () => {
    const file = join(folder, 'made.json');
    const first = await loadOrCreateJwks(file);
    expect(await loadOrCreateJwks(file)).toEqual(first);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(Buffer.from(first.keys[0]?.k ?? '', 'base64url')).toHaveLength(32);
  });

  test('eight first starts at once agree on one key and leave one file', async () => {
    const place = await mkdtemp(join(folder, 'at-once-'));
    const sets = await Promise.all(
      Array.from({ length: 8 }, () => loadOrCreateJwks(join(place, 'keys.json'))),
    );
    expect(new Set(sets.map((set) => JSON.stringify(set))).size).toBe(1);
    expect(await readdir(place)).toEqual(['keys.json']);
  });

  test.each([
    ['cut off', '{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0LXNlY3JldC1zZWNyZXQ'],
    ['not JSON', 'c2VjcmV0LXNlY3JldC1zZWNyZXQ'],
    ['of another shape', '{"keys":[{"kty":"RSA","kid":"a","k":"c2VjcmV0LXNlY3JldC1zZWNyZXQ"}]}'],
    ['empty', ''],
  ])(
    'refuses to start with a file that is %s, leaves it alone, and does not quote it',
    async (_name, text) => {
      const file = join(folder, 'broken.json');
      await writeFile(file, text);
      const failure = await loadOrCreateJwks(file).catch((error: unknown) => error as Error);
      expect((failure as Error).message).toBe(
        `${file} is not a key set: put the right file back, or remove it and accept that agent tokens and preview URLs change.`,
      );
      expect(String((failure as Error).stack)).not.toContain('c2VjcmV0');
      expect(await readFile(file, 'utf8')).toBe(text);
    },
  );

  test.each<[string, unknown, string]>([
    ['no key', { keys: [] }, 'at least one key is needed'],
    [
      'a key of 31 bytes',
      { keys: [{ ...key('a'), k: Buffer.alloc(31).toString('base64url') }] },
      'k must hold at least 32 bytes, base64url-encoded',
    ],
    [
      'an RSA key',
      { keys: [{ ...key('a'), kty: 'RSA' }] },
      'only symmetric keys ("kty": "oct") are accepted',
    ],
    [
      'a kid with a slash',
      { keys: [{ ...key('a'), kid: '../a' }] },
      'kid must be 1 to 64 letters, digits, ".", "_" or "-"',
    ],
    ['one kid twice', { keys: [key('a'), key('a')] }, 'every kid must be unique'],
  ])('%s is refused', (_name, set, message) => {
    const { error } = JwksSchema.safeParse(set);
    expect(error?.issues.map((issue) => issue.message)).toEqual([message]);
  });
});

describe('rotation', () => {
  const old = createSignedTokens(deriveKeySet({ keys: [key('one')] }));
  const rotated = createSignedTokens(deriveKeySet({ keys: [key('two'), key('one')] }));
  const dropped = createSignedTokens(deriveKeySet({ keys: [key('two')] }));
  const claims = { runId: 'run_1', expiresAt: new Date('2030-01-02T00:00:00Z'), inside: false };
  const now = new Date('2030-01-01T00:00:00Z');

  test('signs with the first key, still verifies with the older ones, and no longer with a dropped one', async () => {
    const token = await old.signAgent(claims);
    expect([old.currentKid(), rotated.currentKid()]).toEqual(['one', 'two']);
    expect(await rotated.verifyAgent(token, now)).toEqual(claims);
    expect(await dropped.verifyAgent(token, now)).toBeUndefined();
  });

  test('keeps the URL of a run under the key that the run is pinned to', () => {
    expect(rotated.preview('one', 'run_1', 3000, 0)).toBe(old.preview('one', 'run_1', 3000, 0));
    expect(rotated.preview('two', 'run_1', 3000, 0)).not.toBe(old.preview('one', 'run_1', 3000, 0));
    expect(() => dropped.preview('one', 'run_1', 3000, 0)).toThrow(
      'The signing key one of run run_1 is gone: put it back into the key set.',
    );
  });

  test('run, port and generation cannot be shifted into one another', () => {
    const tokens = [
      rotated.preview('one', 'run_1', 3000, 0),
      rotated.preview('one', 'run_13', 0, 0),
      rotated.preview('one', 'run_1', 300, 0),
      rotated.preview('one', 'run_1', 3000, 1),
      rotated.preview('two', 'run_1', 3000, 0),
    ];
    expect(new Set(tokens).size).toBe(5);
  });
});

describe('an agent token', () => {
  const tokens = createSignedTokens(deriveKeySet({ keys: [key('one')] }));
  const now = new Date('2030-01-01T00:00:00Z');
  const sign = () =>
    tokens.signAgent({ runId: 'run_1', expiresAt: new Date('2030-01-02T00:00:00Z'), inside: false });

  test('has one spelling: no change of any one bit is accepted', async () => {
    const token = await sign();
    expect(await tokens.verifyAgent(token, now)).toEqual({
      runId: 'run_1',
      expiresAt: new Date('2030-01-02T00:00:00Z'),
      inside: false,
    });
    const accepted: string[] = [];
    for (let at = 0; at < token.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const changed =
          token.slice(0, at) + String.fromCharCode(token.charCodeAt(at) ^ (1 << bit)) + token.slice(at + 1);
        if ((await tokens.verifyAgent(changed, now)) !== undefined) accepted.push(`${at}.${bit}`);
      }
    }
    expect(accepted).toEqual([]);
  });

  test('ends at its expiry', async () => {
    const token = await sign();
    expect(await tokens.verifyAgent(token, new Date('2030-01-01T23:59:59Z'))).toBeDefined();
    expect(await tokens.verifyAgent(token, new Date('2030-01-02T00:00:00Z'))).toBeUndefined();
  });
});
