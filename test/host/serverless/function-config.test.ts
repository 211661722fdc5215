import { describe, expect, test } from '@jest/globals';
import { readFunctionConfig } from '#host/serverless/function-config.ts';

const GOOD = {
  PORTHOLE_PROVIDER: 'kubernetes',
  PORTHOLE_SANDBOX_IMAGE: 'registry.example.com/sandbox:1',
  DATABASE_URL: 'postgres://porthole@db.example.com/porthole',
  PORTHOLE_SIGNING_KEYS: JSON.stringify({
    keys: [{ kty: 'oct', kid: 'one', k: 'c2lnbmluZy1rZXktb2YtdGhpcnR5LXR3by1ieXRlcyE' }],
  }),
  SANDBOX_API_KEY: 'service-key-of-the-tests',
};

describe("a function's configuration", () => {
  test('is good with a cluster, a database and a credential', () => {
    expect(readFunctionConfig(GOOD)).toMatchObject({ provider: 'kubernetes' });
  });

  test.each([
    ['sandboxes on this machine', { PORTHOLE_PROVIDER: 'local' }, 'PORTHOLE_PROVIDER: '],
    ['records in a file', { DATABASE_URL: undefined }, 'DATABASE_URL: '],
    ['previews on loopback', { Sandbox__Preview__Enabled: 'false' }, 'Sandbox__Preview__Enabled: '],
    ['everybody let in', { SANDBOX_API_KEY: undefined }, 'SANDBOX_API_KEY: '],
    ['a short service key', { SANDBOX_API_KEY: 'fifteen-letters' }, 'SANDBOX_API_KEY: has fewer than 16'],
  ])('is refused with %s', (_what, change, problem) => {
    expect(() => readFunctionConfig({ ...GOOD, ...change })).toThrow(
      expect.objectContaining({ problems: [expect.stringContaining(problem)] }),
    );
  });

  test('reports every problem at once', () => {
    expect(() => readFunctionConfig({})).toThrow(
      expect.objectContaining({
        problems: [
          expect.stringContaining('PORTHOLE_PROVIDER'),
          expect.stringContaining('DATABASE_URL'),
          expect.stringContaining('SANDBOX_API_KEY'),
        ],
      }),
    );
  });
});
