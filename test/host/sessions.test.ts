import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { collect } from '#test/support/collect.ts';
import { Porthole } from '../../client/node/index.ts';
import { type Frame, openEventStream } from './support/event-stream.ts';
import { type MadeRun, makeRun } from './support/runs.ts';
import { openTerminal, refusedTerminal } from './support/terminals.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';
import { type OidcIssuer, startOidcIssuer } from './support/oidc-issuer.ts';

const KEY = 'a-key-of-alice-0123';
const ADMIN_KEY = 'a-key-of-the-admin-0123';
const KEYS = JSON.stringify({
  [KEY]: { user: 'alice', org: 'acme' },
  [ADMIN_KEY]: { user: 'root', org: 'acme', admin: true },
});

async function auditOf({ host }: TestHost, apiKey: string) {
  return collect(new Porthole({ url: host.url, apiKey }).audit.events());
}

/** `name=value` of the response's cookie, and its attributes. */
function cookieIn(headers: { readonly 'set-cookie'?: string[] | undefined }) {
  const [pair = '', ...attributes] = (headers['set-cookie']?.[0] ?? '').split('; ');
  return { pair, name: pair.split('=', 1)[0], attributes };
}

describe('signing in with a key', () => {
  let porthole: TestHost;
  let cookie: string;
  beforeAll(async () => {
    porthole = await startTestHost({ PORTHOLE_API_KEYS: KEYS });
    const answer = await porthole.call('POST', '/api/session', { body: { key: KEY } });
    cookie = cookieIn(answer.headers).pair;
  });
  afterAll(() => porthole.end());
  const origin = () => porthole.host.url;

  test('gives a cookie that no script can read, without the key', async () => {
    const answer = await porthole.call('POST', '/api/session', { body: { key: KEY } });
    const { name, pair, attributes } = cookieIn(answer.headers);
    expect({ status: answer.status, name, attributes }).toEqual({
      status: 200,
      name: 'porthole-session',
      attributes: ['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict'],
    });
    expect(pair).not.toContain(KEY);
    expect(porthole.logged.join('')).not.toContain(KEY);
  });

  test('refuses a key that is not good', async () => {
    const answer = await porthole.call('POST', '/api/session', { body: { key: `${KEY}4` } });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([401, undefined]);
  });

  test('lets its owner in, as who they are', async () => {
    const answer = await porthole.call('GET', '/api/session', { headers: { cookie } });
    const features = ['bridge', 'e2b', 'editor', 'mcp', 'pages'];
    expect([answer.status, answer.json()]).toEqual([
      200,
      { user: 'alice', org: 'acme', admin: false, features },
    ]);
  });

  test.each<[string, () => Record<string, string>, number]>([
    ['from the own origin', () => ({ origin: origin() }), 201],
    ['without an Origin header', () => ({}), 403],
    ['from the origin of a preview', () => ({ origin: 'http://abc-preview.localhost' }), 403],
    ['from another site', () => ({ origin: origin(), 'sec-fetch-site': 'cross-site' }), 403],
    ['from the same site', () => ({ origin: origin(), 'sec-fetch-site': 'same-site' }), 403],
  ])('a change %s', async (_name, headers, status) => {
    const answer = await porthole.call('POST', '/api/runs', { body: {}, headers: { cookie, ...headers() } });
    expect(answer.status).toBe(status);
  });

  test('tells a program without an Origin to send a key', async () => {
    const answer = await porthole.call('POST', '/api/runs', { body: {}, headers: { cookie } });
    const remedy = 'programs send a key instead, in the Authorization header.';
    expect(answer.json()).toEqual({
      error: `A request with the session of a browser must have the Origin header: ${remedy}`,
      code: 'origin_not_allowed',
      retryable: false,
      remedy: remedy.replace('p', 'P'),
    });
  });

  test.each([
    ['a changed one', (sealed: string) => sealed.replace(/.(?=.{7}$)/, (last) => (last === 'A' ? 'B' : 'A'))],
    ['one that is there twice', (sealed: string) => `${sealed}; ${sealed}`],
    ['an empty one', () => 'porthole-session='],
    [
      'one of another name',
      (sealed: string) => sealed.replace('porthole-session', '__Host-porthole-session'),
    ],
  ])('%s is not valid', async (_name, change) => {
    const answer = await porthole.call('GET', '/api/session', { headers: { cookie: change(cookie) } });
    expect(answer.status).toBe(401);
  });

  test('opens a terminal from its own origin only', async () => {
    const { sandboxId } = await makeRun(porthole, KEY);
    const open = (headers: Record<string, string>) =>
      refusedTerminal(porthole.host.port, sandboxId, { headers: { cookie, ...headers } });
    const refused = await Promise.all([
      open({}),
      open({ origin: 'http://abc-preview.localhost' }),
      open({ origin: 'null' }),
      open({ origin: origin(), 'sec-fetch-site': 'same-site' }),
    ]);
    expect(refused.map(({ status, body }) => [status, body['code']])).toEqual(
      Array.from({ length: 4 }, () => [403, 'origin_not_allowed']),
    );
    const terminal = await openTerminal(porthole.host.port, sandboxId, {
      headers: { cookie, origin: origin() },
    });
    await terminal.leave();
  });

  test('needs no Origin for a request that changes nothing', async () => {
    expect((await porthole.call('HEAD', '/api/session', { headers: { cookie } })).status).toBe(200);
  });

  test('rejects a bad bearer token even with a valid cookie', async () => {
    const answer = await porthole.call('GET', '/api/session', { headers: { cookie }, token: 'wrong' });
    expect(answer.status).toBe(401);
  });

  test('signing out removes the cookie, and a copy of it is not valid', async () => {
    const own = await porthole.call('POST', '/api/session', { body: { key: KEY } });
    const copy = cookieIn(own.headers).pair;
    const answer = await porthole.call('DELETE', '/api/session', {
      headers: { cookie: copy, origin: origin() },
    });
    const asked = await porthole.call('GET', '/api/session', { headers: { cookie: copy } });
    const other = await porthole.call('GET', '/api/session', { headers: { cookie } });
    expect([asked.status, other.status]).toEqual([401, 200]);
    expect([answer.status, cookieIn(answer.headers)]).toEqual([
      204,
      {
        pair: 'porthole-session=',
        name: 'porthole-session',
        attributes: ['Path=/', 'Max-Age=0', 'HttpOnly', 'SameSite=Strict'],
      },
    ]);
  });

  test('is in the audit, as signing out is, once each', async () => {
    const own = await porthole.call('POST', '/api/session', { body: { key: KEY } });
    const headers = { cookie: cookieIn(own.headers).pair, origin: origin() };
    for (let n = 0; n < 2; n += 1) await porthole.call('DELETE', '/api/session', { headers });
    const rows = (await auditOf(porthole, ADMIN_KEY)).filter(({ type }) => type.startsWith('session.'));
    const [opened, closed] = rows.slice(-2);
    expect(opened).toMatchObject({
      type: 'session.opened',
      subject: expect.stringMatching(/^session\/[\w-]{22}$/),
      actor: { kind: 'person', id: 'alice', org: 'acme', credential: 'session' },
      source_ip: expect.stringMatching(/127\.0\.0\.1$/),
      data: { method: 'key' },
    });
    expect(closed).toMatchObject({ type: 'session.closed', subject: opened?.subject, actor: opened?.actor });
    expect(JSON.stringify(rows)).not.toContain(headers.cookie.split('=')[1]);
  });
});

describe('behind https', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({
      PORTHOLE_API_KEYS: KEYS,
      PORTHOLE_PUBLIC_URL: 'https://porthole.example.com',
    });
  });
  afterAll(() => porthole.end());

  test('sets a __Host- cookie', async () => {
    const answer = await porthole.call('POST', '/api/session', { body: { key: KEY } });
    expect(cookieIn(answer.headers)).toMatchObject({
      name: '__Host-porthole-session',
      attributes: ['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict', 'Secure'],
    });
  });

  test('rejects a cookie without the prefix, which a preview could have set', async () => {
    const { headers } = await porthole.call('POST', '/api/session', { body: { key: KEY } });
    const cookie = cookieIn(headers).pair.replace('__Host-', '');
    expect((await porthole.call('GET', '/api/session', { headers: { cookie } })).status).toBe(401);
  });
});

describe('signing in at an identity provider', () => {
  let issuer: OidcIssuer;
  let porthole: TestHost;
  beforeAll(async () => {
    issuer = await startOidcIssuer();
    porthole = await startTestHost({
      OIDC_ISSUER: issuer.url,
      OIDC_AUDIENCE: 'porthole',
      OIDC_CLIENT_ID: 'console',
      PORTHOLE_API_KEYS: KEYS,
    });
  });
  afterAll(async () => {
    await porthole.end();
    await issuer.close();
  });

  async function begin(page?: string) {
    const answer = await porthole.call('POST', '/api/session/oidc', {
      ...(page === undefined ? {} : { body: { return_to: page } }),
      headers: { origin: porthole.host.url },
    });
    const url = new URL(answer.json<{ url: string }>().url);
    return { answer, url, query: Object.fromEntries(url.searchParams), cookie: cookieIn(answer.headers) };
  }

  async function comeBack(cookie: string, came: Readonly<Record<string, string>>) {
    const query = new URLSearchParams(came).toString();
    return porthole.call('GET', `/api/session/oidc/callback?${query}`, {
      headers: {
        cookie,
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      },
    });
  }

  test('begins with a challenge, a state and a nonce, and a cookie that comes back with the person', async () => {
    const { url, query, cookie } = await begin();
    expect(url.origin + url.pathname).toBe(`${issuer.url}/authorize`);
    expect(query).toMatchObject({
      response_type: 'code',
      client_id: 'console',
      code_challenge_method: 'S256',
      redirect_uri: `${porthole.host.url}/api/session/oidc/callback`,
    });
    expect(cookie.attributes).toEqual(['Path=/', 'Max-Age=600', 'HttpOnly', 'SameSite=Lax']);
  });

  test('ends with a session of whom the provider vouches for', async () => {
    const { query, cookie } = await begin();
    const code = issuer.grant(query, { sub: 'carol', org: 'acme', aud: 'console' });
    const answer = await comeBack(cookie.pair, { code, state: query['state'] ?? '' });
    expect([answer.status, answer.headers.location]).toEqual([302, '/']);
    const session = await porthole.call('GET', '/api/session', {
      headers: { cookie: cookieIn(answer.headers).pair },
    });
    expect(session.json()).toMatchObject({ user: 'carol', org: 'acme', admin: false });
  });

  test('leads back to the page that was asked for', async () => {
    const { query, cookie } = await begin('/runs/r-1?tab=files#top');
    const code = issuer.grant(query, { sub: 'carol', org: 'acme', aud: 'console' });
    const answer = await comeBack(cookie.pair, { code, state: query['state'] ?? '', iss: issuer.url });
    expect([answer.status, answer.headers.location]).toEqual([302, '/runs/r-1?tab=files#top']);
  });

  test.each([
    'https://evil.test/',
    '//evil.test',
    '/\\evil.test',
    '/\t/evil.test',
    '/.//evil.test',
    'runs',
    '',
  ])('leads nowhere else, as to %j', async (path) => {
    const answer = await porthole.call('POST', '/api/session/oidc', { body: { return_to: path } });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('a path of this Porthole')]);
  });

  interface Wrong {
    readonly claims?: object;
    readonly answer?: Record<string, string>;
    readonly noCookie?: true;
  }
  test.each<[string, Wrong, string]>([
    ['another state', { answer: { state: 'another' } }, 'mismatch'],
    ['another state and an error', { answer: { state: 'another', error: 'access_denied' } }, 'mismatch'],
    ['the answer of another issuer', { answer: { iss: 'https://evil.test' } }, 'wrong_issuer'],
    ['a person who is refused, or turns back', { answer: { error: 'access_denied' } }, 'denied'],
    ['an error of the issuer', { answer: { error: 'server_error' } }, 'provider_error'],
    ['a code that was not issued', { answer: { code: 'made-up' } }, 'not_vouched'],
    ['a token for another sign-in', { claims: { nonce: 'another' } }, 'not_vouched'],
    ['a token for another client', { claims: { aud: 'porthole' } }, 'not_vouched'],
    ['a token that was made for another party', { claims: { azp: 'another' } }, 'not_vouched'],
    [
      'a token for several that does not say for whom',
      { claims: { aud: ['console', 'another'] } },
      'not_vouched',
    ],
    ['a token of another issuer', { claims: { iss: 'https://evil.test' } }, 'not_vouched'],
    [
      'a person with names that no cookie can hold',
      { claims: { sub: 'x'.repeat(2_000), org: 'x'.repeat(2_000) } },
      'not_vouched',
    ],
    ['a token without an org', { claims: { org: undefined } }, 'not_vouched'],
    ['no cookie of a beginning', { noCookie: true }, 'expired'],
  ])('does not end with %s', async (_name, { claims = {}, answer = {}, noCookie }, problem) => {
    const { query, cookie } = await begin('/sandboxes');
    const code = issuer.grant(query, { sub: 'carol', org: 'acme', aud: 'console', ...claims });
    const came = await comeBack(noCookie === true ? '' : cookie.pair, {
      code,
      state: query['state'] ?? '',
      ...answer,
    });
    const page = noCookie === true ? '/' : '/sandboxes';
    expect([came.status, came.headers.location, came.headers['set-cookie']]).toEqual([
      302,
      `${page}?sign-in=${problem}`,
      undefined,
    ]);
  });

  test('does not end while the issuer cannot be asked, and says so on the page', async () => {
    const { query, cookie } = await begin('/tools');
    const code = issuer.grant(query, { sub: 'carol', org: 'acme', aud: 'console' });
    issuer.answerWith(503);
    try {
      const came = await comeBack(cookie.pair, { code, state: query['state'] ?? '' });
      expect([came.status, came.headers.location]).toEqual([302, '/tools?sign-in=unavailable']);
    } finally {
      issuer.answerWith(undefined);
    }
  });

  test('puts who signed in, and who did not, into the audit', async () => {
    const { query, cookie } = await begin();
    const code = issuer.grant(query, { sub: 'dave', org: 'acme', aud: 'console' });
    await comeBack(cookie.pair, { code, state: query['state'] ?? '' });
    const rows = await auditOf(porthole, ADMIN_KEY);
    expect(rows.find(({ actor }) => actor?.id === 'dave')).toMatchObject({
      type: 'session.opened',
      actor: { kind: 'person', credential: 'session' },
      data: { method: 'oidc' },
    });
    const denied = rows.filter(({ type }) => type === 'request.denied');
    expect(denied).toContainEqual(
      expect.objectContaining({ subject: 'operation/endOidcSignIn', data: { code: 'mismatch' } }),
    );
  });

  test('accepts a code only once', async () => {
    const { query, cookie } = await begin();
    const code = issuer.grant(query, { sub: 'carol', org: 'acme', aud: 'console' });
    const answer = { code, state: query['state'] ?? '' };
    await comeBack(cookie.pair, answer);
    expect((await comeBack(cookie.pair, answer)).headers.location).toBe('/?sign-in=not_vouched');
  });
});

describe('what a browser has open', () => {
  let clock: PinnedClock;
  let porthole: TestHost;
  let headers: Record<string, string>;
  let run: MadeRun;
  beforeEach(async () => {
    clock = pinnedClock();
    porthole = await startTestHost({ PORTHOLE_API_KEYS: KEYS }, { clock });
    const answer = await porthole.call('POST', '/api/session', { body: { key: KEY } });
    headers = { cookie: cookieIn(answer.headers).pair, origin: porthole.host.url };
    run = await makeRun(porthole, KEY);
  });
  afterEach(() => porthole.end());

  const signOut = async () => {
    await porthole.call('DELETE', '/api/session', { headers });
    // More often than it checks the session: the check may be about to happen.
    for (let look = 0; look < 20; look += 1) {
      clock.advance({ seconds: 15 });
      await setImmediate();
    }
  };
  const expire = () => Promise.resolve(clock.advance({ hours: 12 }));

  test.each([
    ['who signs out', signOut],
    ['with an expired session', expire],
  ])('ends a terminal of a person %s', async (_name, leave) => {
    const terminal = await openTerminal(porthole.host.port, run.sandboxId, { headers });
    await leave();
    expect(await terminal.closed).toBe(1008);
  });

  test.each([
    ['who signs out', signOut],
    ['with an expired session', expire],
  ])('ends a stream of a person %s', async (_name, leave) => {
    const stream = await openEventStream(porthole.host.port, '/api/approvals/events', headers);
    expect(await stream.next()).toEqual({ retry: '1000' });
    await leave();
    let frame: Frame | undefined;
    const rest = async () => {
      do frame = await stream.next();
      while (frame !== undefined);
    };
    await expect(rest()).rejects.toThrow('aborted');
  });
});

test('rejects a session of a provider that is no longer configured', async () => {
  const issuer = await startOidcIssuer();
  const settings = {
    OIDC_ISSUER: issuer.url,
    OIDC_AUDIENCE: 'porthole',
    OIDC_CLIENT_ID: 'console',
    PORTHOLE_API_KEYS: KEYS,
  };
  let porthole = await startTestHost(settings);
  const { dataDir } = porthole;
  try {
    const begun = await porthole.call('POST', '/api/session/oidc', {
      headers: { origin: porthole.host.url },
    });
    const query = Object.fromEntries(new URL(begun.json<{ url: string }>().url).searchParams);
    const code = issuer.grant(query, { sub: 'carol', org: 'acme', aud: 'console' });
    const back = new URLSearchParams({ code, state: query['state'] ?? '' }).toString();
    const ended = await porthole.call('GET', `/api/session/oidc/callback?${back}`, {
      headers: { cookie: cookieIn(begun.headers).pair },
    });
    const cookie = cookieIn(ended.headers).pair;
    const ask = async () => (await porthole.call('GET', '/api/session', { headers: { cookie } })).status;
    expect(await ask()).toBe(200);
    for (const other of [
      { PORTHOLE_API_KEYS: KEYS },
      { ...settings, OIDC_CLIENT_ID: 'another' },
      { ...settings, OIDC_ADMIN_CLAIM: 'another' },
    ]) {
      await porthole.close();
      porthole = await startTestHost(other, { dataDir });
      expect(await ask()).toBe(401);
    }
    await porthole.close();
    porthole = await startTestHost(settings, { dataDir });
    expect(await ask()).toBe(200);
  } finally {
    await porthole.end();
    await issuer.close();
  }
});

test('ends a session after twelve hours', async () => {
  const clock = pinnedClock();
  const porthole = await startTestHost({ PORTHOLE_API_KEYS: KEYS }, { clock });
  try {
    const { headers } = await porthole.call('POST', '/api/session', { body: { key: KEY } });
    const { pair: cookie } = cookieIn(headers);
    const ask = async () => (await porthole.call('GET', '/api/session', { headers: { cookie } })).status;
    clock.advance({ hours: 12, seconds: -1 });
    expect(await ask()).toBe(200);
    clock.advance({ seconds: 2 });
    expect(await ask()).toBe(401);
  } finally {
    await porthole.end();
  }
});
