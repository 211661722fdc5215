import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { SandboxConfig } from '#handlers/auth/delegation-routes.ts';
import { readSandboxConfig, sandboxConfigSchema } from '../../client/index.ts';

const GOOD = {
  sandbox_id: 'abc234',
  credential: 'a.b.c',
  dataplane_url: 'https://porthole.example.com/v1/sandbox/abc234',
};

/** Without fields for people only. */
function bare(schema: unknown): unknown {
  return JSON.parse(
    JSON.stringify(schema, (name, value: unknown) =>
      ['description', 'example', 'id'].includes(name) ? undefined : value,
    ),
  );
}

test('uses one form for what a client hands over: the API’s schema, and the client’s', () => {
  const { $schema, $defs, $ref, ...own } = z.toJSONSchema(SandboxConfig, { io: 'input' });
  const schema = $ref === undefined ? own : $defs?.['SandboxConfig'];
  expect(bare({ $schema, ...(schema as object) })).toEqual(bare(sandboxConfigSchema));
});

test.each<[string, object, boolean]>([
  ['all of it', {}, true],
  ['an id of another form', { sandbox_id: 'ABC' }, false],
  ['no id', { sandbox_id: undefined }, false],
  ['a credential of two words', { credential: 'a b' }, false],
  ['an empty credential', { credential: '' }, false],
  ['a credential that is too long', { credential: 'a'.repeat(16_385) }, false],
  ['no URL', { dataplane_url: 'porthole' }, false],
])('both validators agree on %s', (_what, change, isGood) => {
  const config = { ...GOOD, ...change };
  const read = () => readSandboxConfig({ config: { configurable: { sandbox: config } } });
  if (isGood) expect(read()).toEqual(GOOD);
  else expect(read).toThrow(TypeError);
  expect(SandboxConfig.safeParse(config).success).toBe(isGood);
});
