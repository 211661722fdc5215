import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  base32,
  formatPreviewToken,
  isPreviewToken,
  parsePreviewHost,
  previewHost,
  previewName,
  tokenFingerprint,
} from '#core/previews/preview-token.ts';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { secretRedactor } from '#core/auth/redact-secrets.ts';

const REFERENCE_TOKEN = 'swift-falcon-amber-k7m2q9x4n8b3r6t5w1z0c2d4f7';
const redact = secretRedactor([]);
const mac = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('preview tokens', () => {
  test('encode a MAC of zeros and ones to a known value', () => {
    expect(formatPreviewToken(new Uint8Array(32))).toBe(`amber-amber-amber-${'a'.repeat(26)}`);
    expect(formatPreviewToken(new Uint8Array(32).fill(255))).toBe(`willow-willow-willow-${'7'.repeat(25)}4`);
  });

  test('match the base32 vectors of RFC 4648 section 10', () => {
    const rows: [string, string][] = [
      ['', ''],
      ['f', 'my'],
      ['fo', 'mzxq'],
      ['foo', 'mzxw6'],
      ['foob', 'mzxw6yq'],
      ['fooba', 'mzxw6ytb'],
      ['foobar', 'mzxw6ytboi'],
    ];
    for (const [text, encoded] of rows) expect(base32(Buffer.from(text))).toBe(encoded);
  });

  test('have the format that readers accept, one DNS label holds and the log redactor removes', () => {
    fc.assert(
      fc.property(mac, (bytes) => {
        const token = formatPreviewToken(bytes);
        expect(token).toMatch(new RegExp(`^${PREVIEW_TOKEN_PATTERN}$`));
        expect(redact(`GET https://${previewHost(token, 'example.com')}/x`)).toBe(
          'GET https://[preview token]-preview.example.com/x',
        );
        expect(`${token}-preview`.length).toBeLessThanOrEqual(63);
        expect(isPreviewToken(token)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('differ for MACs that differ in the first 128 bits', () => {
    fc.assert(
      fc.property(mac, fc.integer({ min: 0, max: 127 }), (bytes, bit) => {
        const other = Uint8Array.from(bytes);
        other[bit >> 3] = (other[bit >> 3] as number) ^ (1 << (bit & 7));
        expect(formatPreviewToken(other)).not.toBe(formatPreviewToken(bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  test('reject a MAC that is too short', () => {
    expect(() => formatPreviewToken(new Uint8Array(18))).toThrow(
      'a preview token needs 19 bytes of MAC, got 18',
    );
  });

  test('are parsed from their host, ignoring case and port', () => {
    fc.assert(
      fc.property(
        mac,
        fc.constantFrom('localhost', 'preview.example.com'),
        fc.constantFrom('', ':80', ':65535'),
        fc.boolean(),
        (bytes, zone, port, upper) => {
          const token = formatPreviewToken(bytes);
          const host = `${previewHost(token, zone)}${port}`;
          expect(parsePreviewHost(upper ? host.toUpperCase() : host, zone)).toEqual({ kind: 'token', token });
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test.each([
    [
      'the reference token',
      `${REFERENCE_TOKEN}-preview.localhost`,
      { kind: 'token', token: REFERENCE_TOKEN },
    ],
    ['a port', `${REFERENCE_TOKEN}-preview.localhost:8787`, { kind: 'token', token: REFERENCE_TOKEN }],
    ['a trailing dot', `${REFERENCE_TOKEN}-preview.localhost.`, { kind: 'foreign' }],
    ['a token with a dot in it', `${REFERENCE_TOKEN}.x-preview.localhost`, { kind: 'invalid' }],
    ['a name', 'Shop-demo-preview.localhost:80', { kind: 'named', name: 'shop-demo', zone: 'localhost' }],
    [
      'the longest name',
      `${'n'.repeat(26)}-preview.localhost`,
      { kind: 'named', name: 'n'.repeat(26), zone: 'localhost' },
    ],
    ['the shortest token', `${'n'.repeat(27)}-preview.localhost`, { kind: 'token', token: 'n'.repeat(27) }],
    ['a name that is too short', 'ab-preview.localhost', { kind: 'invalid' }],
    ['a name that starts with a digit', '1ab-preview.localhost', { kind: 'invalid' }],
    ['a name that ends with a hyphen', 'shop--preview.localhost', { kind: 'invalid' }],
    ['a token that starts with a hyphen', `-${REFERENCE_TOKEN}-preview.localhost`, { kind: 'invalid' }],
    ['a label over 63 characters', `${'a'.repeat(56)}-preview.localhost`, { kind: 'invalid' }],
    ['an underscore', `a_${REFERENCE_TOKEN}-preview.localhost`, { kind: 'invalid' }],
    ['no token at all', '-preview.localhost', { kind: 'invalid' }],
    ['the zone itself', 'localhost', { kind: 'foreign' }],
    ['another zone', `${REFERENCE_TOKEN}-preview.localhost.evil.example`, { kind: 'foreign' }],
    ['a zone that ends alike', `${REFERENCE_TOKEN}-preview.xlocalhost`, { kind: 'foreign' }],
    ['nothing', '', { kind: 'foreign' }],
  ])('are parsed from a host with %s', (_name, host, expected) => {
    expect(parsePreviewHost(host, 'localhost')).toEqual(expected);
  });

  test('derive names and fingerprints from the hash, never from the token', () => {
    expect(previewName(REFERENCE_TOKEN)).toMatch(/^preview-[0-9a-f]{20}$/);
    expect(tokenFingerprint(REFERENCE_TOKEN)).toMatch(/^[0-9a-f]{8}$/);
    expect(previewName(REFERENCE_TOKEN)).toBe(
      `preview-${tokenFingerprint(REFERENCE_TOKEN)}${previewName(REFERENCE_TOKEN).slice(16)}`,
    );
  });
});
