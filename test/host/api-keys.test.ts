import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';
import { UNAUTHORIZED } from './credentials/issuer-tokens.ts';
import { type Key, listed, makeKey, statusWith } from './support/api-keys.ts';
import { type Frame, openEventStream } from './support/event-stream.ts';
import { type OidcIssuer, startOidcIssuer } from './support/oidc-issuer.ts';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE } from './support/people.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';
import { type MadeRun, makeRun, outcome } from './support/runs.ts';

describe('a key that a person makes', () => {
  let porthole: TestHost;
  let run: MadeRun;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    run = await makeRun(porthole, ALICE);
  });
  afterAll(() => porthole.end());
  const revokeAll = async () => {
    for (const { key_id: id } of await listed(porthole, ADA_ADMIN, '/api/keys?all=true')) {
      await porthole.call('DELETE', `/api/keys/${id}`, { token: ADA_ADMIN });
    }
  };
  afterEach(revokeAll);

  test('acts as its maker, and is shown once', async () => {
    const answer = await porthole.call('POST', '/api/keys', {
      token: ALICE,
      body: { name: ' CI ', scope: 'full' },
    });
    expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
    const { key, ...made } = answer.json<Key>();
    expect(key).toMatch(/^porthole_[0-9a-f]{48}$/);
    expect(made).toMatchObject({
      name: 'CI',
      scope: 'full',
      admin: false,
      user: 'alice',
      org: 'acme',
      prefix: key.slice(0, 17),
      last_used_at: null,
    });
    expect(await listed(porthole, ALICE)).toEqual([made]);
    expect((await porthole.call('GET', '/api/session', { token: key })).json()).toMatchObject({
      user: 'alice',
      org: 'acme',
      admin: false,
    });
    expect((await listed(porthole, ALICE))[0]?.last_used_at).toEqual(expect.any(String));
    const created = await porthole.call('POST', '/api/runs', { token: key, body: {} });
    expect(created.json()).toMatchObject({ owner: 'alice' });
  });

  test.each([
    ['creates', 'POST', '/api/keys'],
    ['lists', 'GET', '/api/keys'],
    ['revokes', 'DELETE', '/api/keys/key_1'],
  ] as const)('never %s keys', async (_verb, method, path) => {
    const { key } = await makeKey(porthole, ADA_ADMIN);
    const body = method === 'POST' ? { body: { name: 'more', scope: 'read' } } : {};
    expect(outcome(await porthole.call(method, path, { token: key, ...body }))).toEqual([403, 'forbidden']);
  });

  test('does not sign in to the console', async () => {
    const { key } = await makeKey(porthole, ALICE);
    expect((await porthole.call('POST', '/api/session', { body: { key } })).status).toBe(401);
  });

  test('rejects other spellings of a key', async () => {
    const { key } = await makeKey(porthole, ALICE);
    const [first = ''] = key.slice('porthole_'.length);
    for (const token of [key.toUpperCase(), `${key}0`, key.slice(0, -1), key.slice('porthole_'.length)]) {
      expect(outcome(await porthole.call('GET', '/api/session', { token }))).toEqual(UNAUTHORIZED);
    }
    const other = `porthole_${first === '0' ? '1' : '0'}${key.slice('porthole_'.length + 1)}`;
    expect(await statusWith(porthole, other)).toBe(401);
  });

  test('reads and changes nothing with the scope read', async () => {
    const { key } = await makeKey(porthole, ALICE, { scope: 'read' });
    const box = `/v1/sandbox/${run.sandboxId}`;
    expect(await statusWith(porthole, key, `/api/runs/${run.runId}`)).toBe(200);
    expect(await statusWith(porthole, key, `${box}/files`)).toBe(200);
    const refused = await Promise.all([
      porthole.call('POST', '/api/runs', { token: key, body: {} }),
      porthole.call('POST', `${box}/exec`, { token: key, body: { argv: ['true'] } }),
      porthole.call('DELETE', box, { token: key }),
      porthole.call('GET', `${box}/pty`, { token: key }),
      porthole.call('POST', '/mcp', { token: key, body: {} }),
    ]);
    expect(refused.map(outcome)).toEqual(refused.map(() => [403, 'forbidden']));
    expect(refused[0]?.json()).toMatchObject({
      error: expect.stringContaining('This key has the scope read, which cannot do this'),
    });
  });

  test('works like an agent in each run with the scope agent, and decides nothing', async () => {
    const { key } = await makeKey(porthole, ALICE, { scope: 'agent' });
    const exec = { token: key, body: { argv: ['true'] } };
    expect((await porthole.call('POST', `/v1/sandbox/${run.sandboxId}/exec`, exec)).status).toBe(200);
    const decision = { request_id: 'apr_1', decision: 'approve' };
    const refused = await Promise.all([
      porthole.call('POST', '/api/runs', { token: key, body: { auto_approve_tools: true } }),
      porthole.call('POST', `/api/runs/${run.runId}/tool-approvals`, { token: key, body: decision }),
      porthole.call('PATCH', `/api/runs/${run.runId}`, { token: key, body: { sharing: 'work' } }),
      porthole.call('POST', `/v1/sandbox/${run.sandboxId}/delegate`, { token: key, body: {} }),
      porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`, { token: key }),
    ]);
    expect(refused.map(outcome)).toEqual(refused.map(() => [403, 'forbidden']));
    const mcp = async (method: string, params: object) =>
      (
        await porthole.call('POST', '/mcp', {
          token: key,
          headers: { accept: 'application/json' },
          body: { jsonrpc: '2.0', id: 1, method, params },
        })
      ).text;
    const tools = await mcp('tools/list', {});
    expect([tools.includes('"run_command"'), tools.includes('"decide_approval"')]).toEqual([true, false]);
    const call = { name: 'decide_approval', arguments: { run_id: run.runId, ...decision } };
    expect(await mcp('tools/call', call)).toContain('A key with the scope agent cannot decide on approvals');
  });

  test('tells a server what the scope of a key allows', async () => {
    const validate = async (scope: string) => {
      const { key: credential } = await makeKey(porthole, ALICE, { scope });
      const body = { sandbox_id: run.sandboxId, org: 'acme', credential };
      return (await porthole.call('POST', '/v1/sandbox/validate', { token: ALICE, body })).json();
    };
    expect(await validate('full')).toMatchObject({ owner: true, expires_at: expect.any(String) });
    expect(await validate('read')).toMatchObject({ owner: false, valid: true, scopes: ['fs:read'] });
    expect(await validate('agent')).toMatchObject({ owner: false, scopes: ['fs:read', 'fs:write', 'exec'] });
  });

  test('has the rights of an admin only with an admin as its maker, and never with the scope agent', async () => {
    const own = await makeKey(porthole, ALICE);
    const ada = await makeKey(porthole, ADA_ADMIN);
    const agent = await makeKey(porthole, ADA_ADMIN, { scope: 'agent' });
    expect([own.admin, ada.admin, agent.admin]).toEqual([false, true, false]);
    const foreign = `/api/runs/${run.runId}`;
    expect(await statusWith(porthole, ada.key, foreign)).toBe(200);
    expect(await statusWith(porthole, agent.key, foreign)).toBe(403);
  });

  test('belongs to its maker: others neither see nor revoke it, and admins do', async () => {
    const { key_id: id, key } = await makeKey(porthole, ALICE);
    for (const other of [BOB, CAROL]) {
      expect(await listed(porthole, other)).toEqual([]);
      const refused = await porthole.call('DELETE', `/api/keys/${id}`, { token: other });
      expect(outcome(refused)).toEqual([404, 'key_not_found']);
    }
    expect(outcome(await porthole.call('GET', '/api/keys?all=true', { token: ALICE }))).toEqual([
      403,
      'forbidden',
    ]);
    expect(outcome(await porthole.call('POST', '/api/keys', { token: run.agentToken, body: {} }))).toEqual([
      403,
      'forbidden',
    ]);
    expect(await listed(porthole, ADA_ADMIN)).toEqual([]);
    expect((await listed(porthole, ADA_ADMIN, '/api/keys?all=true')).map(({ key_id }) => key_id)).toEqual([
      id,
    ]);
    expect((await porthole.call('DELETE', `/api/keys/${id}`, { token: ADA_ADMIN })).status).toBe(204);
    expect(await statusWith(porthole, key)).toBe(401);
  });

  test('has one of fifty places', async () => {
    await Promise.all(Array.from({ length: 50 }, () => makeKey(porthole, ALICE)));
    const more = await porthole.call('POST', '/api/keys', {
      token: ALICE,
      body: { name: 'x', scope: 'read' },
    });
    expect([outcome(more), more.json()]).toMatchObject([
      [429, 'too_many_keys'],
      { retryable: false, error: 'You have 50 keys, the maximum: revoke one.' },
    ]);
    expect((await makeKey(porthole, BOB)).scope).toBe('full');
  });

  const year = 366 * 86_400;
  test.each([
    ['no name', { name: ' ' }, 'name: must not be empty'],
    ['no scope', { scope: undefined }, 'scope is missing'],
    ['a scope that does not exist', { scope: 'admin' }, 'scope: '],
    ['two expiries', { expires_in: 60, expires_at: '2100-01-01T00:00:00Z' }, 'not both'],
    ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'is in the past'],
    ['a far expiry', { expires_at: '2100-01-01T00:00:00Z' }, 'more than 366 days ahead'],
    ['a long time', { expires_in: year + 1 }, `must be at most ${year}`],
    ['a misspelt expiry', { expires: 60 }, 'expires'],
  ])('is refused with %s', async (_name, body, message) => {
    const answer = await porthole.call('POST', '/api/keys', {
      token: ALICE,
      body: { name: 'CI', scope: 'full', ...body },
    });
    expect([answer.status, answer.json()['error']]).toEqual([400, expect.stringContaining(message)]);
  });

  test('is in no log and in no error', async () => {
    const { key } = await makeKey(porthole, ALICE);
    porthole.host.services.log.warn({ err: new Error(`got ${key}`), header: `Bearer ${key}` }, key);
    const answer = await porthole.call('GET', `/api/runs/${key}`, { token: ALICE });
    await porthole.call('GET', `/api/runs?title=${key}`, { token: key });
    expect(answer.text).not.toContain(key);
    expect(porthole.logged.join('')).toContain('[api key]');
    expect(porthole.logged.join('')).not.toContain(key);
  });
});

describe('a key', () => {
  let clock: PinnedClock;
  let porthole: TestHost;
  beforeEach(async () => {
    clock = pinnedClock();
    porthole = await startTestHost(PEOPLE, { clock });
  });
  afterEach(() => porthole.end());

  test('is refused once it has expired, and listed for 30 more days', async () => {
    const { key, expires_at } = await makeKey(porthole, ALICE, { expires_in: 60 });
    expect(expires_at).toBe('2030-03-01T12:01:00.000Z');
    clock.advance({ seconds: 59 });
    expect(await statusWith(porthole, key)).toBe(200);
    clock.advance({ seconds: 1 });
    expect(await statusWith(porthole, key)).toBe(401);
    expect(await listed(porthole, ALICE)).toHaveLength(1);
  });

  test('is valid for 90 days unless its maker says otherwise', async () => {
    expect((await makeKey(porthole, ALICE)).expires_at).toBe('2030-05-30T12:00:00.000Z');
  });

  test('has its last use written once a minute', async () => {
    const { key } = await makeKey(porthole, ALICE);
    const lastUse = async () => {
      await statusWith(porthole, key);
      return (await listed(porthole, ALICE))[0]?.last_used_at;
    };
    clock.advance({ seconds: 10 });
    expect(await lastUse()).toBe('2030-03-01T12:00:10.000Z');
    clock.advance({ seconds: 59 });
    expect(await lastUse()).toBe('2030-03-01T12:00:10.000Z');
    clock.advance({ seconds: 1 });
    expect(await lastUse()).toBe('2030-03-01T12:01:10.000Z');
  });

  const readToEnd = async (next: () => Promise<Frame | undefined>) => {
    while ((await next()) !== undefined);
  };

  test('ends its open streams when it is revoked', async () => {
    const { key, key_id: id } = await makeKey(porthole, ALICE);
    const headers = { authorization: `Bearer ${key}` };
    const stream = await openEventStream(porthole.host.port, '/api/approvals/events', headers);
    expect(await stream.next()).toEqual({ retry: '1000' });
    const ended = expect(readToEnd(() => stream.next())).rejects.toThrow('aborted');
    await porthole.call('DELETE', `/api/keys/${id}`, { token: ALICE });
    await ended;
  });

  test('ends its open streams when it expires', async () => {
    const { key } = await makeKey(porthole, ALICE, { expires_in: 60 });
    const headers = { authorization: `Bearer ${key}` };
    const stream = await openEventStream(porthole.host.port, '/api/approvals/events', headers);
    expect(await stream.next()).toEqual({ retry: '1000' });
    const ended = expect(readToEnd(() => stream.next())).rejects.toThrow('aborted');
    for (let look = 0; look < 20; look += 1) {
      clock.advance({ seconds: 15 });
      await setImmediate();
    }
    await ended;
  });
});

test('ends with its maker: one who is removed from the configuration, or is no admin any more', async () => {
  const people = (admin: boolean, ...more: string[]) =>
    JSON.stringify({
      'a-key-of-ada-0123': { user: 'ada', org: 'ops', admin },
      ...Object.fromEntries(more.map((user) => [`a-key-of-${user}-0123`, { user, org: 'acme' }])),
    });
  let porthole = await startTestHost({ PORTHOLE_API_KEYS: people(true, 'alice') });
  const { dataDir } = porthole;
  try {
    const own = await makeKey(porthole, 'a-key-of-alice-0123');
    const ada = await makeKey(porthole, 'a-key-of-ada-0123');
    await porthole.close();
    porthole = await startTestHost({ PORTHOLE_API_KEYS: people(false) }, { dataDir });
    expect(await statusWith(porthole, own.key)).toBe(401);
    const session = await porthole.call('GET', '/api/session', { token: ada.key });
    expect(session.json()).toMatchObject({ user: 'ada', org: 'ops', admin: false });
    await porthole.close();
    porthole = await startTestHost({}, { dataDir });
    expect(await statusWith(porthole, ada.key)).toBe(401);
  } finally {
    await porthole.end();
  }
});

test('works without a configured key, until one is configured', async () => {
  let porthole = await startTestHost();
  const { dataDir } = porthole;
  try {
    const { key, admin } = await makeKey(porthole, undefined, { scope: 'read' });
    expect([admin, await statusWith(porthole, key)]).toEqual([true, 200]);
    expect(outcome(await porthole.call('POST', '/api/runs', { token: key, body: {} }))).toEqual([
      403,
      'forbidden',
    ]);
    await porthole.close();
    porthole = await startTestHost(PEOPLE, { dataDir });
    expect(await statusWith(porthole, key)).toBe(401);
  } finally {
    await porthole.end();
  }
});

test('works behind an identity provider, without admin rights and for 90 days at most', async () => {
  const issuer: OidcIssuer = await startOidcIssuer();
  const settings = { OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: 'porthole', OIDC_ADMIN_CLAIM: 'admin' };
  let porthole = await startTestHost(settings);
  const { dataDir } = porthole;
  try {
    const token = await issuer.sign({ sub: 'carol', org: 'acme', admin: true });
    const { key, admin } = await makeKey(porthole, token);
    const session = await porthole.call('GET', '/api/session', { token: key });
    expect([admin, session.json()]).toMatchObject([false, { user: 'carol', org: 'acme', admin: false }]);
    const body = { name: 'CI', scope: 'full', expires_in: 91 * 86_400 };
    const long = await porthole.call('POST', '/api/keys', { token, body });
    expect([long.status, long.json()['error']]).toEqual([400, expect.stringContaining('90 days')]);
    await porthole.close();
    // The same name in the configuration is another person.
    porthole = await startTestHost(
      { PORTHOLE_API_KEYS: JSON.stringify({ 'a-key-of-carol-0123': { user: 'carol', org: 'acme' } }) },
      { dataDir },
    );
    expect(await statusWith(porthole, key)).toBe(401);
  } finally {
    await porthole.end();
    await issuer.close();
  }
});

suite('two hosts on one database', postgresMissing, () => {
  let postgres: TestPostgres;
  let hosts: TestHost[] = [];
  beforeAll(async () => {
    postgres = await startPostgres();
    const k = randomBytes(32).toString('base64url');
    const keys = JSON.stringify({ keys: [{ kty: 'oct', kid: 'a', k }] });
    const settings = { ...PEOPLE, DATABASE_URL: postgres.url, PORTHOLE_SIGNING_KEYS: keys };
    hosts = [await startTestHost(settings), await startTestHost(settings)];
  });
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.end()));
    await postgres.stop();
  });

  test('refuse a revoked key at once, and end its streams, on the other host as well', async () => {
    const [here, there] = hosts;
    if (here === undefined || there === undefined) throw new Error('no hosts');
    const { key, key_id: id } = await makeKey(here, ALICE);
    expect([await statusWith(here, key), await statusWith(there, key)]).toEqual([200, 200]);
    const stream = await openEventStream(there.host.port, '/api/approvals/events', {
      authorization: `Bearer ${key}`,
    });
    expect(await stream.next()).toEqual({ retry: '1000' });
    expect((await here.call('DELETE', `/api/keys/${id}`, { token: ALICE })).status).toBe(204);
    expect([await statusWith(here, key), await statusWith(there, key)]).toEqual([401, 401]);
    const rest = async () => {
      while ((await stream.next()) !== undefined);
    };
    await expect(rest()).rejects.toThrow('aborted');
  });
});
