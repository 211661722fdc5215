import { describe, expect, test } from '@jest/globals';
import { secretRedactor } from '#core/auth/redact-secrets.ts';

describe('secret redaction', () => {
  const redact = secretRedactor(['key with "quotes" and \\', 'plain-key-0123456789', 'abc']);
  test.each<[string, string, string]>([
    ['a known key', 'got plain-key-0123456789.', 'got [redacted].'],
    ['a known key verbatim', 'got key with "quotes" and \\', 'got [redacted]'],
    [
      'a known key as JSON writes it',
      JSON.stringify({ got: 'key with "quotes" and \\' }),
      '{"got":"[redacted]"}',
    ],
    [
      'a preview token',
      `Run swift-falcon-amber-${'a'.repeat(26)} does not exist`,
      'Run [preview token] does not exist',
    ],
    [
      'a preview token within a host',
      `http://swift-falcon-amber-${'a'.repeat(26)}-preview.localhost:1/x`,
      'http://[preview token]-preview.localhost:1/x',
    ],
    ['a preview token after an underscore', `_dawn-dune-calm-${'a'.repeat(26)}`, '_[preview token]'],
    ['a preview token in capitals', `SWIFT-FALCON-AMBER-${'A'.repeat(26)}`, '[preview token]'],
    ['a signed token', 'id eyJhbGciOiJIUzI1NiJ9.eyJydW4iOiJ4In0.c2ln, please', 'id [signed token], please'],
    ['a signed token without signature', 'eyJhbGciOiJub25lIn0.eyJydW4iOiJ4In0.', '[signed token]'],
    [
      'a signed token after a hyphen',
      'token-eyJhbGciOiJub25lIn0.eyJydW4iOiJ4In0.c2ln',
      'token-[signed token]',
    ],
    ['the second of two signed tokens', 'eyJ.x eyJhbGciOiJub25lIn0.e30.', 'eyJ.x [signed token]'],
    ['an API key', `key=porthole_${'0a'.repeat(24)}&x`, 'key=[api key]&x'],
    ['a bearer header', 'authorization: Bearer s3cret', 'authorization: Bearer [redacted]'],
    ['a token in a query', '/v1/openapi?token=s3cret&x=1', '/v1/openapi?token=[redacted]&x=1'],
    ['the password of a URL', 'postgres://user:s3cret@host/db', 'postgres://user:[redacted]@host/db'],
    ['a word that only looks like one', 'one-two-three-four', 'one-two-three-four'],
    ['a key too short to be one', 'abc', 'abc'],
  ])('removes %s', (_name, text, clean) => {
    expect(redact(text)).toBe(clean);
  });
});
