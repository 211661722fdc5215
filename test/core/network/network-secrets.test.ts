import { describe, expect, test } from '@jest/globals';
import { readHost } from '#core/network/network-host.ts';
import { NO_NETWORK, type NetworkPolicy } from '#core/network/network-policy.ts';
import {
  commandEnvironment,
  NO_SECRETS,
  type NetworkSecret,
  secretsFor,
  withoutValues,
  withSecrets,
} from '#core/network/network-secrets.ts';
import { requestedSecrets, type SecretInput } from '#core/network/requested-secrets.ts';

const POLICY: NetworkPolicy = { ...NO_NETWORK, mode: 'allowlist', allow: [{ host: 'api.example.com' }] };
const AUTHORITY = { certificate: 'certificate', key: 'key' };
const INPUT: SecretInput = { name: 'KEY', host: 'api.example.com', inject: 'header', value: 'value-0123' };

function request(
  inputs: readonly SecretInput[] | undefined,
  { secrets = NO_SECRETS, policy = POLICY, env = {}, isBrokered = true } = {},
) {
  const access = {
    isBrokered: () => Promise.resolve(isBrokered),
    createAuthority: () => Promise.resolve(AUTHORITY),
    presets: [],
  };
  return requestedSecrets(access, { network: policy, secrets, env }, inputs);
}

function secret(fields: Partial<NetworkSecret> = {}): NetworkSecret {
  return {
    name: 'KEY',
    host: 'api.example.com',
    port: 443,
    inject: 'header',
    value: 'value-0123',
    placeholder: `porthole-secret-${'0'.repeat(32)}`,
    ...fields,
  };
}

describe('requested secrets', () => {
  test('get placeholders of one length, and the sandbox an authority', async () => {
    const { list, authority } = await request([INPUT, { ...INPUT, name: 'OTHER', methods: ['get'] }]);
    expect(authority).toEqual(AUTHORITY);
    expect(list).toMatchObject([
      { name: 'KEY', port: 443, value: 'value-0123' },
      { name: 'OTHER', methods: ['GET'] },
    ]);
    const placeholders = list.map(({ placeholder }) => placeholder);
    for (const each of placeholders) expect(each).toMatch(/^porthole-secret-[0-9a-f]{32}$/);
    expect(new Set(placeholders).size).toBe(2);
  });

  test('keep value and placeholder under a name, unless the host changes', async () => {
    const before = await request([INPUT]);
    const { value: _value, ...withoutValue } = INPUT;
    expect(await request([withoutValue], { secrets: before })).toEqual(before);
    const rotated = await request([{ ...INPUT, value: 'value-4567' }], { secrets: before });
    expect(rotated.list[0]).toEqual({ ...before.list[0], value: 'value-4567' });
    const moved = { ...withoutValue, host: 'other.example.com' };
    const policy = { ...POLICY, mode: 'open' } as const;
    await expect(request([moved], { secrets: before, policy })).rejects.toThrow('value is missing');
    expect(await request([], { secrets: before })).toEqual({ list: [], authority: AUTHORITY });
    expect(await request(undefined, { secrets: before })).toBe(before);
  });

  test.each([
    [{ host: 'other.example.com' }, 'other.example.com:443 is outside the policy'],
    [{ host: 'api.example.com:8443' }, 'api.example.com:8443 is outside the policy'],
    [{ host: '*.example.com' }, 'name one host'],
    [{ host: 'api.example.com:443,80' }, 'name one host'],
    [{ host: '10.0.0.1' }, 'an address'],
    [{ host: 'co.uk' }, 'a public suffix'],
    [{ name: 'PATH' }, 'is set by Porthole'],
    [{ name: 'A-B' }, 'is not a variable name'],
    [{ name: 'TAKEN' }, 'a variable of env has that name'],
    [{ value: undefined }, 'value is missing'],
    [{ value: '' }, 'visible ASCII'],
    [{ value: 'hidden\r\nX: y' }, 'visible ASCII'],
    [{ value: 'hidden ' }, 'visible ASCII'],
    [{ value: 'hiddén' }, 'visible ASCII'],
    [{ value: 'h'.repeat(4_097) }, 'visible ASCII'],
  ])('are refused with %j: %s', async (fields, problem) => {
    const refused = request([{ ...INPUT, ...fields }], { env: { TAKEN: '' } });
    await expect(refused).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(problem),
    });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('hidd') });
  });

  test('are refused twice under a name, and without a broker', async () => {
    await expect(request([INPUT, INPUT])).rejects.toThrow('KEY: listed twice');
    await expect(request([INPUT], { isBrokered: false })).rejects.toMatchObject({
      code: 'network_not_supported',
    });
  });
});

test('gives commands the placeholders, and tools the file of authorities', () => {
  const env = { A: 'a', PIP_CERT: '/mine' };
  expect(commandEnvironment({ env, secrets: NO_SECRETS })).toBe(env);
  expect(commandEnvironment({ env, secrets: { list: [secret()] } })).toMatchObject({
    A: 'a',
    PIP_CERT: '/mine',
    KEY: secret().placeholder,
    NODE_EXTRA_CA_CERTS: '/run/porthole/certificates.pem',
  });
  const held = commandEnvironment({ env, secrets: { list: [secret()], authority: AUTHORITY } });
  expect(held).toMatchObject({ PORTHOLE_AUTHORITY: AUTHORITY.certificate });
  expect(Object.values(held)).not.toContain(AUTHORITY.key);
});

test.each([
  ['api.example.com', 443, false, 1],
  ['API.example.com.', 443, false, 1],
  ['api.example.com', 8443, false, 0],
  ['other.example.com', 443, false, 0],
  ['api.example.com', 80, true, 1],
  ['93.184.216.34', 443, false, 0],
])('finds the secrets of %s:%i, plain HTTP %s', (host, port, isPlain, count) => {
  const named = readHost(host);
  if (named === undefined) throw new Error(host);
  const http = isPlain ? { method: 'GET', path: '/' } : undefined;
  expect(secretsFor({ list: [secret()] }, { host: named, port, http })).toHaveLength(count);
});

describe('a request', () => {
  const PLACEHOLDER = secret().placeholder;
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  test('gets the value in every header, and nowhere else', () => {
    const target = `/${PLACEHOLDER}?key=${PLACEHOLDER}`;
    const headers = { authorization: [`Bearer ${PLACEHOLDER}`], cookie: [`a=${PLACEHOLDER}; b`] };
    expect(withSecrets({ method: 'GET', target, headers }, [secret()])).toEqual({
      target,
      headers: { authorization: ['Bearer value-0123'], cookie: ['a=value-0123; b'] },
      used: ['KEY'],
    });
  });

  test('gets the value in the query, encoded', () => {
    const request = { method: 'GET', target: `/a?key=${PLACEHOLDER}&b`, headers: { x: [PLACEHOLDER] } };
    expect(withSecrets(request, [secret({ inject: 'query', value: 'a&b c' })])).toEqual({
      target: '/a?key=a%26b%20c&b',
      headers: { x: [PLACEHOLDER] },
      used: ['KEY'],
    });
  });

  test('gets the value in Basic credentials', () => {
    const headers = { authorization: [basic(`user:${PLACEHOLDER}`)], x: [PLACEHOLDER] };
    expect(withSecrets({ method: 'GET', target: '/', headers }, [secret({ inject: 'basic' })])).toEqual({
      target: '/',
      headers: { authorization: [basic('user:value-0123')], x: [PLACEHOLDER] },
      used: ['KEY'],
    });
  });

  test.each([
    ['another method', secret({ methods: ['POST'] })],
    ['another placeholder', secret({ placeholder: `porthole-secret-${'1'.repeat(32)}` })],
    ['another place', secret({ inject: 'basic' })],
  ])('keeps the placeholder for %s', (_what, given) => {
    const request = { target: '/', headers: { x: [PLACEHOLDER], authorization: [basic('a:b')] } };
    expect(withSecrets({ method: 'GET', ...request }, [given])).toEqual({ ...request, used: [] });
  });
});

test('puts placeholders back into headers of an answer, but for short values', () => {
  const secrets = [secret({ value: 'a&b value' }), secret({ value: 'short', placeholder: 'never' })];
  expect(withoutValues('/?key=a%26b%20value&x=a&b value short', secrets)).toBe(
    `/?key=${secret().placeholder}&x=${secret().placeholder} short`,
  );
});
