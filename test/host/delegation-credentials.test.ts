import { describe, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { SCOPES } from '#core/delegations/delegation-store.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { makeRun, outcome } from './support/runs.ts';
import {
  asOwner,
  box,
  delegate,
  exec,
  type Made,
  make,
  porthole,
  useDelegationHost,
} from './support/delegations.ts';

useDelegationHost();

describe('the token of a sandbox', () => {
  test('comes with the creation only, and is valid for its files and commands', async () => {
    const mine = await make({ session_key: 'a thread' });
    const again = (await asOwner('POST', '/v1/sandbox', { session_key: 'a thread' })).json();
    expect([again, mine.sandbox_token.split('.')]).toEqual([
      { id: mine.id },
      [expect.any(String), expect.any(String), expect.any(String)],
    ]);
    const { stdout } = await execute(porthole, mine.id, ['pwd'], { token: mine.sandbox_token });
    expect(stdout.toString()).toBe('/workspace\n');
    const rotated = (await asOwner('POST', `/v1/sandbox/${mine.id}/token`)).json<Made>();
    await expect(execute(porthole, mine.id, ['pwd'], { token: mine.sandbox_token })).rejects.toThrow('401');
    await execute(porthole, mine.id, ['pwd'], { token: rotated.sandbox_token });
  });

  test('is not valid for the next sandbox of its id', async () => {
    const mine = await make();
    await asOwner('DELETE', `/v1/sandbox/${mine.id}`);
    await expect(execute(porthole, mine.id, ['pwd'], { token: mine.sandbox_token })).rejects.toThrow('404');
    await execute(porthole, mine.id, ['pwd'], { token: ALICE });
    await expect(execute(porthole, mine.id, ['pwd'], { token: mine.sandbox_token })).rejects.toThrow('404');
  });
});

describe('judging what a client hands over', () => {
  const validate = (body: object, token = ALICE) =>
    porthole.call('POST', '/v1/sandbox/validate', { token, body });
  const none = { valid: false, owner: false, scopes: [], commands: null, paths: null, expires_at: null };

  test('reports the scope and expiry of a credential', async () => {
    const made = await delegate({ scopes: ['fs:read'], paths: ['src'] });
    const about = { sandbox_id: box.id, org: 'acme' };
    expect((await validate({ ...about, credential: made.token })).json()).toEqual({
      sandbox_id: box.id,
      exists: true,
      valid: true,
      owner: false,
      scopes: ['fs:read'],
      commands: null,
      paths: ['/workspace/src'],
      expires_at: made.expires_at,
    });
    expect((await validate({ ...about, sandbox_credential: box.sandbox_token })).json()).toMatchObject({
      valid: true,
      owner: false,
      scopes: SCOPES,
      expires_at: null,
    });
    expect((await validate({ ...about, credential: ALICE })).json()).toMatchObject({
      valid: true,
      owner: true,
      scopes: SCOPES,
    });
    expect((await validate({ ...about, credential: BOB })).json()).toEqual({
      sandbox_id: box.id,
      exists: true,
      ...none,
    });
  });

  test('tells until when the token of a run’s agent is good', async () => {
    const run = await makeRun(porthole, ALICE, { sandbox_id: box.id });
    const { exp } = JSON.parse(Buffer.from(run.agentToken.split('.')[1] ?? '', 'base64url').toString()) as {
      exp: number;
    };
    const about = { sandbox_id: box.id, org: 'acme', credential: run.agentToken };
    expect((await validate(about)).json()).toMatchObject({
      valid: true,
      owner: false,
      expires_at: new Date(exp * 1_000).toISOString(),
    });
  });

  test('compares with the whole public URL, its path included', async () => {
    const behind = await startTestHost({
      ...PEOPLE,
      PORTHOLE_PUBLIC_URL: 'https://apps.example.com/porthole/',
    });
    try {
      const url = 'https://apps.example.com/porthole/v1/sandbox/abc';
      const status = async (dataplane_url: string) =>
        (
          await behind.call('POST', '/v1/sandbox/validate', {
            token: ALICE,
            body: { sandbox_id: 'abc', org: 'acme', credential: ALICE, dataplane_url },
          })
        ).status;
      expect([await status(url), await status(url.replace('/porthole', ''))]).toEqual([200, 400]);
    } finally {
      await behind.end();
    }
  });

  test('knows no sandbox of another org, and speaks for no other org', async () => {
    const about = { sandbox_id: box.id, credential: ALICE };
    expect((await validate({ ...about, org: 'globex' }, BOB)).json()).toEqual({
      sandbox_id: box.id,
      exists: false,
      ...none,
    });
    expect(outcome(await validate({ ...about, org: 'acme' }, BOB))).toEqual([403, 'forbidden']);
    expect(outcome(await validate({ ...about, org: 'acme' }, SERVICE_KEY))).toEqual([403, 'forbidden']);
  });

  test.each<[string, (origin: string) => string, number]>([
    ['ours', (origin) => `${origin}/v1/sandbox/${box.id}`, 200],
    [
      'ours by another name of the machine',
      (origin) => `${origin.replace('127.0.0.1', 'localhost')}/v1/sandbox/${box.id}`,
      200,
    ],
    ['ours behind TLS', (origin) => `${origin.replace('http:', 'https:')}/v1/sandbox/${box.id}`, 200],
    ['another port', (origin) => `${origin}1/v1/sandbox/${box.id}`, 400],
    ['another sandbox', (origin) => `${origin}/v1/sandbox/abc`, 400],
    ['another host', () => `http://169.254.169.254/v1/sandbox/${box.id}`, 400],
    ['our host in front of another', (origin) => `${origin}.evil.test/v1/sandbox/${box.id}`, 400],
    ['our host as a user', (origin) => `${origin}@evil.test/v1/sandbox/${box.id}`, 400],
    ['a longer path', (origin) => `${origin}/v1/sandbox/${box.id}/../x`, 400],
  ])('answers a dataplane_url that is %s', async (_which, url, status) => {
    const origin = `http://127.0.0.1:${porthole.host.port}`;
    const answer = await porthole.call('POST', '/v1/sandbox/validate', {
      token: ALICE,
      host: `127.0.0.1:${porthole.host.port}`,
      body: { sandbox_id: box.id, credential: ALICE, org: 'acme', dataplane_url: url(origin) },
    });
    expect(answer.status).toBe(status);
  });
});

describe('bad credentials', () => {
  test('are not accepted, whichever of thousands', async () => {
    const { tokens, authenticator, records } = porthole.host.services;
    const { generation = 0 } = (await records.sandboxes.get(box.id)) ?? {};
    const made = await delegate({ scopes: SCOPES });
    const run = await makeRun(porthole, ALICE, { sandbox_id: box.id });
    const [header = '', payload = '', signature = ''] = made.token.split('.');
    const bad = new Set<string>();
    for (let at = 0; at < made.token.length; at += 1) {
      for (const bit of [0, 1, 2, 3, 4, 5, 6]) {
        bad.add(
          made.token.slice(0, at) +
            String.fromCharCode(made.token.charCodeAt(at) ^ (1 << bit)) +
            made.token.slice(at + 1),
        );
      }
      bad.add(made.token.slice(0, at));
      bad.add(made.token.slice(at + 1));
      bad.add(made.token.slice(0, at) + made.token.slice(at + 1));
    }
    const claims = { sub: box.id, gen: generation, jti: made.delegation_id };
    const typ = 'porthole-sandbox+jwt';
    for (const alg of ['none', 'None', 'NONE', 'HS384', 'HS512', 'RS256', 'ES256', 'EdDSA', '', 'dir']) {
      const forged = `${encode({ alg, typ, kid: decode(header)['kid'] })}.${encode(claims)}`;
      for (const end of ['', signature, hmac('', forged), hmac('secret', forged), hmac(forged, forged)]) {
        bad.add(`${forged}.${end}`);
      }
    }
    for (const kid of ['', '../key', 'constructor', '__proto__', null, 0, ['a'], { a: 1 }]) {
      bad.add(`${encode({ alg: 'HS256', typ, kid })}.${payload}.${signature}`);
    }
    for (const change of [
      { gen: generation + 1 },
      { gen: String(generation) },
      { sub: 'aaaa' },
      { jti: undefined, ver: 0 },
      { scopes: SCOPES },
    ]) {
      bad.add(`${header}.${encode({ ...claims, ...change })}.${signature}`);
    }
    // Validly signed, but for something else: another kind, another sandbox, another generation, an
    // unknown delegation, a future token.
    const other = await make();
    const unfit = [
      await tokens.signSandbox({ sandboxId: other.id, generation, by: { delegationId: made.delegation_id } }),
      await tokens.signSandbox({
        sandboxId: box.id,
        generation: 9,
        by: { delegationId: made.delegation_id },
      }),
      await tokens.signSandbox({ sandboxId: box.id, generation, by: { delegationId: 'dlg_1' } }),
      await tokens.signSandbox({ sandboxId: box.id, generation, by: { version: 7 } }),
      made.delegation_id,
      `${made.token}.`,
      `${made.token}.${signature}`,
      `${header}.${payload}`,
      run.agentToken.split('.')[0] + made.token.slice(header.length),
      header + run.agentToken.slice(run.agentToken.indexOf('.')),
    ];
    for (const each of unfit) bad.add(each);
    bad.delete(made.token);
    expect(bad.size).toBeGreaterThan(2_000);
    const accepted: string[] = [];
    for (const each of bad) {
      if ((await authenticator.authenticate(each)) !== undefined) accepted.push(each);
    }
    expect(accepted).toEqual([]);
    for (const each of [...unfit, ...bad].filter((text) => /^[\x21-\x7e]+$/.test(text)).slice(0, 100)) {
      expect((await exec(each, ['true'])).status).toBe(401);
    }
    expect((await exec(made.token, ['true'])).status).toBe(200);
  }, 120_000);
});

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
}

function hmac(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
