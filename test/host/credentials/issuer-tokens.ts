import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { createHmac } from 'node:crypto';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type OidcIssuer, startOidcIssuer } from '../support/oidc-issuer.ts';
import { SERVICE_KEY } from '../support/people.ts';
import { makeRun, outcome } from '../support/runs.ts';

export const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
export const UNAUTHORIZED = [401, 'unauthorized'];
/** The owner of a run that the credential creates, or the refusal. */
export const whoami = async (porthole: TestHost, token: string) => {
  const answer = await porthole.call('POST', '/api/runs', { body: {}, token });
  return answer.status === 201 ? answer.json<{ owner: string }>().owner : outcome(answer);
};

/** A token that an attacker signs. */
export function selfSigned(header: unknown, payload: string, secret: string): string {
  const signed = `${encode(header)}.${payload}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

/** Tokens of an identity provider, and what is forged of them. */
export function issuerTokens(): void {
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

    test.each(['RS256', 'ES256'] as const)(
      'identifies a token signed with %s by its subject',
      async (alg) => {
        expect(await whoami(porthole, await issuer.sign({ sub: 'carol' }, { alg }))).toBe('carol');
      },
    );

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
      expect(await whoami(porthole, await issuer.sign(claims))).toEqual(UNAUTHORIZED);
    });

    const RS256 = { alg: 'RS256', kid: 'RS256' };
    const HS256 = { alg: 'HS256', kid: 'RS256' };
    const root = { aud: 'porthole', sub: 'root', org: 'acme', admin: true, exp: 4_000_000_000 };
    test.each<[string, (head: string, payload: string, signature: string) => Promise<string> | string]>([
      ['of an unknown key', () => issuer.sign({}, { kid: 'unknown' })],
      ['of a key under another one’s name', () => issuer.sign({}, { alg: 'ES256', kid: 'RS256' })],
      [
        'signed by another issuer',
        async (_head, payload) => {
          const { privateKey } = await generateKeyPair('RS256');
          const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
          return new SignJWT(claims).setProtectedHeader(RS256).sign(privateKey);
        },
      ],
      ['with alg none', (_head, payload) => `${encode({ alg: 'none', kid: 'RS256' })}.${payload}.`],
      [
        'by HS256 with the public key as the secret',
        (_head, payload) => selfSigned(HS256, payload, issuer.publicPem),
      ],
      [
        'by HS256 with the trimmed public key',
        (_head, payload) => selfSigned(HS256, payload, issuer.publicPem.trim()),
      ],
      [
        'with the subject changed',
        (head, _payload, signature) => `${head}.${encode({ iss: issuer.url, ...root })}.${signature}`,
      ],
      ['with its signature cut', (...parts) => parts.join('.').slice(0, -10)],
      [
        'with an unknown critical header',
        (_head, ...rest) => [encode({ ...RS256, crit: ['x'], x: 1 }), ...rest].join('.'),
      ],
      [
        'that brings its own key',
        (_head, ...rest) =>
          [encode({ alg: 'RS256', jwk: { kty: 'RSA' }, jku: 'http://evil.test' }), ...rest].join('.'),
      ],
    ])('refuses a token %s', async (_name, forge) => {
      const [head = '', payload = '', signature = ''] = (await issuer.sign({})).split('.');
      expect(await whoami(porthole, await forge(head, payload, signature))).toEqual(UNAUTHORIZED);
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
}
