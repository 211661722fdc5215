import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { encode, issuerTokens, selfSigned, UNAUTHORIZED, whoami } from './credentials/issuer-tokens.ts';
import { ALICE, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { makeRun, outcome } from './support/runs.ts';

describe('with nothing configured', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost();
  });
  afterAll(() => porthole.end());

  test('treats a caller without a credential as local', async () => {
    expect((await porthole.call('POST', '/api/runs', { body: {} })).json()).toMatchObject({ owner: 'local' });
  });

  test.each([
    ['an unknown key', 'Bearer some-key-0123456789'],
    ['an empty one', 'Bearer '],
    ['Bearer alone', 'Bearer'],
    ['Basic', 'Basic bG9jYWw6bG9jYWw='],
    ['no scheme', 'some-key-0123456789'],
    ['two keys', 'Bearer one two'],
    ['something like a signed token', 'Bearer a.b.c'],
    ['an empty header', ''],
  ])('checks a presented credential: %s is 401, and never local', async (_name, authorization) => {
    const answer = await porthole.call('GET', '/api/runs', { headers: { authorization } });
    expect(outcome(answer)).toEqual(UNAUTHORIZED);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  test('has no OAuth metadata, and a 401 of /mcp names none', async () => {
    const metadata = await porthole.call('GET', '/.well-known/oauth-protected-resource/mcp');
    expect(outcome(metadata)).toEqual([404, 'not_found']);
    const refused = await porthole.call('POST', '/mcp', { token: 'wrong', body: {} });
    expect(refused.headers['www-authenticate']).toBe('Bearer');
  });

  test('treats an agent token as its agent, not as local', async () => {
    const { runId, agentToken } = await makeRun(porthole);
    expect((await porthole.call('GET', `/api/runs/${runId}`, { token: agentToken })).status).toBe(200);
    const listed = await porthole.call('GET', '/api/runs', { token: agentToken });
    expect(outcome(listed)).toEqual([403, 'forbidden']);
  });

  test('answers 401 to an agent token with any one byte changed', async () => {
    const { runId, agentToken } = await makeRun(porthole);
    const statuses = new Set<number>();
    for (let at = 0; at < agentToken.length; at += 1) {
      const changed = String.fromCharCode(agentToken.charCodeAt(at) ^ 1);
      const token = agentToken.slice(0, at) + changed + agentToken.slice(at + 1);
      statuses.add((await porthole.call('GET', `/api/runs/${runId}`, { token })).status);
    }
    expect([...statuses]).toEqual([401]);
  });

  test('answers 401 to an agent token that is cut or lengthened', async () => {
    const { runId, agentToken } = await makeRun(porthole);
    const [header = '', payload = '', signature = ''] = agentToken.split('.');
    const forged = [
      ...[1, 2, 10, 43, 44, 60].map((cut) => agentToken.slice(0, -cut)),
      agentToken.slice(1),
      `${agentToken}A`,
      `${agentToken}=`,
      `${agentToken}.`,
      `${agentToken}.${signature}`,
      `${header}.${payload}.`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      `${encode({ alg: 'none', typ: 'porthole-agent+jwt' })}.${payload}.`,
      `${encode({ alg: 'none', typ: 'porthole-agent+jwt' })}.${payload}.${signature}`,
      `${encode({ alg: 'HS256', typ: 'porthole-agent+jwt', kid: 'other' })}.${payload}.${signature}`,
      `${encode({ alg: 'HS256', typ: 'porthole-agent+jwt' })}.${payload}.${signature}`,
      selfSigned({ alg: 'HS256', typ: 'porthole-agent+jwt', kid: 'other' }, payload, ''),
      selfSigned({ alg: 'HS256', typ: 'JWT' }, payload, 'secret'),
    ];
    for (const token of forged)
      expect(outcome(await porthole.call('GET', `/api/runs/${runId}`, { token }))).toEqual(UNAUTHORIZED);
  });

  test('rejects the agent token of another host', async () => {
    const other = await startTestHost();
    const { agentToken } = await makeRun(other);
    const { runId } = await makeRun(porthole);
    await other.end();
    const answer = await porthole.call('GET', `/api/runs/${runId}`, { token: agentToken });
    expect(outcome(answer)).toEqual(UNAUTHORIZED);
  });

  test('?token= is looked at on the document alone', async () => {
    expect((await porthole.call('GET', '/v1/openapi.json')).status).toBe(200);
    expect((await porthole.call('GET', '/v1/openapi.json?token=wrong')).status).toBe(401);
    expect((await porthole.call('GET', '/api/runs?token=wrong')).json()['error']).toMatch(
      /^query: unknown parameter "token": the parameters are limit, after, /,
    );
  });
});

describe('with keys configured', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
  });
  afterAll(() => porthole.end());

  test.each<[string, string, unknown]>([
    ['a person’s key', ALICE, 'alice'],
    ['the service’s key', SERVICE_KEY, 'service'],
    ['a key with one letter more', `${ALICE}x`, UNAUTHORIZED],
    ['a key with one letter fewer', ALICE.slice(0, -1), UNAUTHORIZED],
    ['a key in capitals', ALICE.toUpperCase(), UNAUTHORIZED],
    ['a person’s name', 'alice', UNAUTHORIZED],
    ['the name of a property', '__proto__', UNAUTHORIZED],
  ])('%s', async (_name, token, who) => {
    expect(await whoami(porthole, token)).toEqual(who);
  });

  test.each([
    ['GET', '/api/runs'],
    ['POST', '/api/runs'],
    ['POST', '/v1/sandbox'],
    ['GET', '/v1/openapi'],
    ['GET', '/v1/openapi.html'],
    ['GET', '/v1/openapi.json'],
  ])('answers 401 without a credential to %s %s', async (method, path) => {
    const answer = await porthole.call(method, path);
    expect([answer.status, answer.json()]).toMatchObject([
      401,
      { error: 'Unauthorized', code: 'unauthorized', retryable: false },
    ]);
  });

  test.each(['/v1/openapi', '/v1/openapi.html', '/v1/openapi.json'])(
    '%s takes the key as ?token=',
    async (path) => {
      expect((await porthole.call('GET', `${path}?token=${ALICE}`)).status).toBe(200);
      expect((await porthole.call('GET', path, { token: ALICE })).status).toBe(200);
      expect((await porthole.call('GET', `${path}?token=wrong-key-0123456789`)).status).toBe(401);
    },
  );

  test('rejects a key in the query everywhere else', async () => {
    expect((await porthole.call('GET', `/api/runs?token=${ALICE}`)).status).toBe(401);
  });

  test.each(['/health', '/metrics', '/v1/openapi/assets/api-viewer.js'])(
    '%s needs none on loopback',
    async (path) => {
      expect((await porthole.call('GET', path)).status).toBe(200);
    },
  );

  test('/metrics through a proxy on this machine needs the key', async () => {
    const ask = (token?: string) =>
      porthole.call('GET', '/metrics', {
        headers: { 'x-forwarded-for': '192.0.2.7' },
        ...(token === undefined ? {} : { token }),
      });
    expect([(await ask()).status, (await ask('wrong')).status, (await ask(ALICE)).status]).toEqual([
      401, 401, 200,
    ]);
  });

  test('needs no credential for a preview’s URL, and passes everything the visitor sends to its app', async () => {
    const answer = await porthole.call('GET', '/', {
      host: `no-such-token-${'a'.repeat(26)}-preview.localhost`,
    });
    expect(outcome(answer)).toEqual([404, 'unknown']);
  });
});

describe('with the hash of an admin key', () => {
  test('lets in the key that was shown once, and not its hash', async () => {
    const script = new URL('../../host/print-config.ts', import.meta.url).pathname;
    const made = spawnSync(process.execPath, [script, 'admin-key'], { encoding: 'utf8' });
    const [, key = ''] = /^  ([0-9a-f]{48})$/m.exec(made.stderr) ?? [];
    const [, hash = ''] = /^SANDBOX_API_KEY=(sha256:\S{44})\n$/.exec(made.stdout) ?? [];
    const porthole = await startTestHost({ SANDBOX_API_KEY: hash });
    expect(await whoami(porthole, key)).toBe('service');
    expect(await whoami(porthole, hash)).toEqual(UNAUTHORIZED);
    expect(await whoami(porthole, hash.slice('sha256:'.length))).toEqual(UNAUTHORIZED);
    await porthole.end();
    await expect(startTestHost({ SANDBOX_API_KEY: 'sha256:short' })).rejects.toThrow(
      'must be a key, or the line that npm run admin-key prints',
    );
  });
});

issuerTokens();
