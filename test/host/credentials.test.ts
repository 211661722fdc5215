import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type OidcIssuer, startOidcIssuer } from './support/oidc-issuer.ts';
import { ALICE, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { makeRun, outcome } from './support/runs.ts';

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const whoami = async (porthole: TestHost, token: string) => {
  const answer = await porthole.call('POST', '/api/runs', { body: {}, token });
  return answer.status === 201 ? answer.json<{ owner: string }>().owner : outcome(answer);
};

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
    expect(outcome(answer)).toEqual([401, 'unauthorized']);
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
    expect(outcome(await porthole.call('GET', '/api/runs', { token: agentToken }))).toEqual([
      403,
      'forbidden',
    ]);
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
      expect(outcome(await porthole.call('GET', `/api/runs/${runId}`, { token }))).toEqual([
        401,
        'unauthorized',
      ]);
  });

  test('rejects the agent token of another host', async () => {
    const other = await startTestHost();
    const { agentToken } = await makeRun(other);
    const { runId } = await makeRun(porthole);
    await other.end();
    expect(outcome(await porthole.call('GET', `/api/runs/${runId}`, { token: agentToken }))).toEqual([
      401,
      'unauthorized',
    ]);
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
    ['a key with one letter more', `${ALICE}x`, [401, 'unauthorized']],
    ['a key with one letter fewer', ALICE.slice(0, -1), [401, 'unauthorized']],
    ['a key in capitals', ALICE.toUpperCase(), [401, 'unauthorized']],
    ['a person’s name', 'alice', [401, 'unauthorized']],
    ['the name of a property', '__proto__', [401, 'unauthorized']],
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
    expect(await whoami(porthole, hash)).toEqual([401, 'unauthorized']);
    expect(await whoami(porthole, hash.slice('sha256:'.length))).toEqual([401, 'unauthorized']);
    await porthole.end();
    await expect(startTestHost({ SANDBOX_API_KEY: 'sha256:short' })).rejects.toThrow(
      'must be a key, or the line that npm run admin-key prints',
    );
  });
});

describe('with an OpenID Connect issuer', () => {
  let issuer: OidcIssuer;
  let porthole: TestHost;
  beforeAll(async () => {
    issuer = await startOidcIssuer();
    porthole = await startTestHost({
      OIDC_ISSUER: issuer.url,
      OIDC_AUDIENCE: 'porthole',
      OIDC_ORG_CLAIM: 'org',
      OIDC_ADMIN_CLAIM: 'admin',
      SANDBOX_API_KEY: SERVICE_KEY,
    });
  });
  afterAll(async () => {
    await porthole.end();
    await issuer.close();
  });

  test.each(['RS256', 'ES256'] as const)('identifies a token signed with %s by its subject', async (alg) => {
    expect(await whoami(porthole, await issuer.sign({ sub: 'carol' }, { alg }))).toBe('carol');
  });

  const resource = 'https://porthole.example.com/mcp';
  const metadataPath = '/.well-known/oauth-protected-resource/mcp';

  test.each([metadataPath, '/.well-known/oauth-protected-resource'])(
    'names the issuer to MCP clients at %s, and on a 401 of /mcp',
    async (path) => {
      const metadata = await porthole.call('GET', path, { token: 'ignored' });
      expect([metadata.status, metadata.json()]).toEqual([
        200,
        {
          resource: `${porthole.host.url}/mcp`,
          authorization_servers: [issuer.url],
          bearer_methods_supported: ['header'],
          resource_name: 'Porthole',
        },
      ]);
      for (const token of [{}, { token: 'wrong' }]) {
        const refused = await porthole.call('POST', '/mcp', { ...token, body: {} });
        expect([refused.status, refused.headers['www-authenticate']]).toEqual([
          401,
          `Bearer resource_metadata="${porthole.host.url}${metadataPath}"`,
        ]);
      }
      const elsewhere = await porthole.call('GET', '/api/runs');
      expect(elsewhere.headers['www-authenticate']).toBe('Bearer');
    },
  );

  test.each([
    [200, '*', 'GET', metadataPath],
    [200, '*', 'GET', '/.well-known/oauth-protected-resource'],
    [403, undefined, 'POST', '/mcp'],
    [403, undefined, 'GET', '/v1/openapi.json'],
  ])('answers a page of another origin with %i and allowed origin %s: %s %s', async (...expected) => {
    const [, , method, path] = expected;
    const headers = { origin: 'https://client.example.net', 'sec-fetch-site': 'cross-site' };
    const answer = await porthole.call(method, path, { headers });
    expect([answer.status, answer.headers['access-control-allow-origin'], method, path]).toEqual(expected);
  });

  test('accepts tokens for the resource at /mcp where it is the audience', async () => {
    const behind = await startTestHost({
      OIDC_ISSUER: issuer.url,
      OIDC_AUDIENCE: resource,
      PORTHOLE_PUBLIC_URL: 'https://porthole.example.com/',
    });
    try {
      expect((await behind.call('GET', metadataPath)).json()).toMatchObject({ resource });
      const ask = async (aud: string) =>
        behind.call('POST', '/mcp', {
          token: await issuer.sign({ aud }),
          headers: { accept: 'application/json, text/event-stream' },
          body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
        });
      expect((await ask(resource)).text).toContain('start_preview');
      const refused = await ask('porthole');
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([
        401,
        `Bearer resource_metadata="https://porthole.example.com${metadataPath}"`,
      ]);
    } finally {
      await behind.end();
    }
  });

  test('reports a token that a client presents, with its expiry', async () => {
    const token = await issuer.sign({ sub: 'carol', org: 'acme', exp: 4_000_000_000 });
    const made = await porthole.call('POST', '/v1/sandbox', { token, body: {} });
    const { id } = made.json<{ id: string }>();
    const body = { sandbox_id: id, org: 'acme', credential: token };
    const answer = await porthole.call('POST', '/v1/sandbox/validate', { token, body });
    expect(answer.json()).toMatchObject({
      valid: true,
      owner: true,
      expires_at: '2096-10-02T07:06:40.000Z',
    });
  });

  test('accepts one matching audience among several', async () => {
    expect(await whoami(porthole, await issuer.sign({ aud: ['other', 'porthole'] }))).toBe('carol');
  });

  test.each<[string, Record<string, unknown>]>([
    ['another issuer', { iss: 'https://issuer.evil.test' }],
    ['the issuer with a slash', { iss: 'http://127.0.0.1/' }],
    ['another audience', { aud: 'another-service' }],
    ['no audience', { aud: undefined }],
    ['an expiry in the past', { exp: 1_700_000_000 }],
    ['no expiry', { exp: undefined }],
    ['a beginning in the future', { nbf: Math.floor(Date.now() / 1000) + 600 }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['no org', { org: undefined }],
    ['an org that is no text', { org: 7 }],
  ])('refuses a token with %s', async (_name, claims) => {
    expect(await whoami(porthole, await issuer.sign(claims))).toEqual([401, 'unauthorized']);
  });

  test.each<[string, (good: string) => Promise<string> | string]>([
    ['of an unknown key', () => issuer.sign({}, { kid: 'unknown' })],
    ['of a key under another one’s name', () => issuer.sign({}, { alg: 'ES256', kid: 'RS256' })],
    [
      'signed by another issuer',
      async (good) => {
        const { privateKey } = await generateKeyPair('RS256');
        const payload = JSON.parse(Buffer.from(good.split('.')[1] ?? '', 'base64url').toString()) as Record<
          string,
          unknown
        >;
        return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'RS256' }).sign(privateKey);
      },
    ],
    ['with alg none', (good) => `${encode({ alg: 'none', kid: 'RS256' })}.${good.split('.')[1] ?? ''}.`],
    [
      'by HS256 with the public key as the secret',
      (good) => selfSigned({ alg: 'HS256', kid: 'RS256' }, good.split('.')[1] ?? '', issuer.publicPem),
    ],
    [
      'by HS256 with the trimmed public key',
      (good) => selfSigned({ alg: 'HS256', kid: 'RS256' }, good.split('.')[1] ?? '', issuer.publicPem.trim()),
    ],
    [
      'with the subject changed',
      (good) => {
        const [head, , signature] = good.split('.');
        return `${head ?? ''}.${encode({ iss: issuer.url, aud: 'porthole', sub: 'root', org: 'acme', admin: true, exp: 4_000_000_000 })}.${signature ?? ''}`;
      },
    ],
    ['with its signature cut', (good) => good.slice(0, -10)],
    [
      'with an unknown critical header',
      (good) =>
        `${encode({ alg: 'RS256', kid: 'RS256', crit: ['x'], x: 1 })}.${good.split('.').slice(1).join('.')}`,
    ],
    [
      'that brings its own key',
      (good) =>
        `${encode({ alg: 'RS256', jwk: { kty: 'RSA' }, jku: 'http://evil.test' })}.${good.split('.').slice(1).join('.')}`,
    ],
  ])('refuses a token %s', async (_name, forge) => {
    expect(await whoami(porthole, await forge(await issuer.sign({})))).toEqual([401, 'unauthorized']);
  });

  test('keeps subjects and orgs apart: the same name in another org is another user', async () => {
    const { runId } = await makeRun(porthole, await issuer.sign({ sub: 'dave', org: 'acme' }));
    const ask = async (claims: Record<string, unknown>) =>
      (await porthole.call('GET', `/api/runs/${runId}`, { token: await issuer.sign(claims) })).status;
    expect([
      await ask({ sub: 'dave', org: 'acme' }),
      await ask({ sub: 'dave', org: 'globex' }),
      await ask({ sub: 'carol', org: 'acme' }),
      await ask({ sub: 'carol', org: 'globex', admin: true }),
      await ask({ sub: 'carol', org: 'globex', admin: 'true' }),
    ]).toEqual([200, 403, 403, 200, 403]);
  });
});

describe('while the issuer is out of order', () => {
  test.each<[string, (issuer: OidcIssuer) => Promise<unknown> | void]>([
    ['not there', (issuer) => issuer.close()],
    ['answering 500', (issuer) => issuer.answerWith(500)],
    ['answering with no key set', (issuer) => issuer.answerWith(200)],
  ])(
    '%s, its tokens are 503, the other credentials are good, and no one is local',
    async (_name, breakIt) => {
      const issuer = await startOidcIssuer();
      const token = await issuer.sign({});
      const porthole = await startTestHost({
        OIDC_ISSUER: issuer.url,
        OIDC_AUDIENCE: 'porthole',
        SANDBOX_API_KEY: SERVICE_KEY,
      });
      try {
        const { runId, agentToken } = await makeRun(porthole, SERVICE_KEY);
        await breakIt(issuer);
        const answer = await porthole.call('GET', '/api/runs', { token });
        expect(outcome(answer)).toEqual([503, 'service_unavailable']);
        expect(answer.headers['retry-after']).toBe('5');
        expect((await porthole.call('GET', '/api/runs', { token: SERVICE_KEY })).status).toBe(200);
        expect((await porthole.call('GET', `/api/runs/${runId}`, { token: agentToken })).status).toBe(200);
        expect((await porthole.call('GET', '/api/runs')).status).toBe(401);
      } finally {
        await porthole.end();
        await issuer.close();
      }
    },
  );

  test('answers 503 when the issuer’s keys are gone after discovery, and notices when the issuer is back', async () => {
    const issuer = await startOidcIssuer();
    const porthole = await startTestHost({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: 'porthole' });
    try {
      issuer.answerWith(500);
      expect(await whoami(porthole, await issuer.sign({}))).toEqual([503, 'service_unavailable']);
      issuer.answerWith(undefined);
      expect(await whoami(porthole, await issuer.sign({}))).toBe('carol');
    } finally {
      await porthole.end();
      await issuer.close();
    }
  });
});

/** A token that an attacker signs. */
function selfSigned(header: unknown, payload: string, secret: string): string {
  const signed = `${encode(header)}.${payload}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
