/** What E2B's SDKs call, by clients that are no SDK of E2B and mean no good. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { runLifecyclePass } from '#handlers/ops/scheduled.ts';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { pinnedClock } from './support/pinned-clock.ts';

interface Sandbox {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
}

const clock = pinnedClock();
let porthole: TestHost;
let sandbox: Sandbox;
beforeAll(async () => {
  porthole = await startTestHost(PEOPLE, { clock });
  sandbox = await create();
}, 60_000);
afterAll(() => porthole?.end());

const control = (method: string, path: string, body?: unknown, key = ALICE) =>
  porthole.call(method, `/e2b${path}`, {
    headers: { 'x-api-key': key },
    ...(body !== undefined && { body }),
  });

async function create(rest: object = {}, key = ALICE): Promise<Sandbox> {
  const answer = await control('POST', '/v2/sandboxes', { templateID: 'base', ...rest }, key);
  expect(answer.status).toBe(201);
  return answer.json();
}

/** A call of the data plane, with the token of the sandbox unless `headers` have another. */
const envd = (
  method: string,
  path: string,
  {
    of = sandbox,
    body,
    headers = {},
  }: { of?: Sandbox; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  porthole.call(method, `/e2b/envd${path}`, {
    headers: { 'e2b-sandbox-id': of.sandboxID, 'x-access-token': of.envdAccessToken, ...headers },
    ...(body !== undefined && { body }),
  });

const write = (path: string, text: string) =>
  envd('POST', `/files?path=${encodeURIComponent(path)}`, {
    body: Buffer.from(text),
    headers: { 'content-type': 'application/octet-stream' },
  });

describe('errors have the shape of E2B', () => {
  test.each([
    ['an unknown sandbox', 'GET', '/sandboxes/nothere', undefined, 404, 'sandbox_not_found'],
    [
      'a field that is not supported',
      'POST',
      '/v2/sandboxes',
      { templateID: 'base', mcp: {} },
      400,
      'invalid_request',
    ],
    ['a template that is no image', 'POST', '/v2/sandboxes', { templateID: 'x' }, 400, 'image_not_supported'],
    [
      'a time-out of a year',
      'POST',
      '/v2/sandboxes',
      { templateID: 'base', timeout: 31_536_000 },
      400,
      'invalid_request',
    ],
    ['an unknown state', 'GET', '/v2/sandboxes?state=odd', undefined, 400, 'invalid_request'],
  ])('%s', async (_what, method, path, body, status, code) => {
    const answer = await control(method, path, body);
    expect(answer.json()).toEqual({ code: status, message: expect.any(String), error_code: code });
    expect(answer.status).toBe(status);
  });

  test('a wrong key', async () => {
    const answer = await control('GET', '/v2/sandboxes', undefined, 'wrong');
    expect([answer.status, answer.json()['code']]).toEqual([401, 401]);
  });
});

test('takes a key in the form of keys of E2B, and refuses the digits of a wrong one', async () => {
  const inForm = (key: string) => `e2b_${Buffer.from(key).toString('hex')}`;
  const { sandboxID } = sandbox;
  expect((await control('GET', `/sandboxes/${sandboxID}`, undefined, inForm(ALICE))).status).toBe(200);
  expect((await control('GET', `/sandboxes/${sandboxID}`, undefined, inForm(BOB))).status).toBe(404);
  expect((await control('GET', `/sandboxes/${sandboxID}`, undefined, inForm('wrong'))).status).toBe(401);
});

test('another user finds, lists and ends nothing of it', async () => {
  const { sandboxID } = sandbox;
  for (const [method, path, body] of [
    ['GET', `/sandboxes/${sandboxID}`, undefined],
    ['DELETE', `/sandboxes/${sandboxID}`, undefined],
    ['POST', `/sandboxes/${sandboxID}/timeout`, { timeout: 1 }],
    ['POST', `/sandboxes/${sandboxID}/pause`, {}],
    ['POST', `/v2/sandboxes/${sandboxID}/connect`, {}],
  ] as const) {
    expect((await control(method, path, body, BOB)).status).toBe(404);
  }
  expect((await control('GET', '/v2/sandboxes', undefined, BOB)).json()).toEqual([]);
});

const OUTSIDE: unknown = expect.stringContaining('/workspace');

describe('the data plane', () => {
  test('takes a token in no other sandbox', async () => {
    const other = await create();
    const headers = { 'x-access-token': sandbox.envdAccessToken };
    for (const [method, path, body] of [
      ['GET', '/health', undefined],
      ['GET', '/files?path=a', undefined],
      ['POST', '/files?path=a', Buffer.from('a')],
      ['POST', '/process.Process/List', {}],
      ['POST', '/filesystem.Filesystem/ListDir', { path: '/' }],
    ] as const) {
      const { status } = await envd(method, path, { of: other, body, headers });
      expect([path, status]).toEqual([path, 403]);
    }
  });

  test('creates no sandbox for an id that is none', async () => {
    const of = { ...sandbox, sandboxID: 'a2345' };
    expect((await envd('GET', '/health', { of })).status).toBe(403);
    expect((await control('GET', '/sandboxes/a2345')).status).toBe(404);
  });

  test('reads and writes nothing outside of /workspace', async () => {
    for (const path of [
      '/etc/passwd',
      '../../etc/passwd',
      '/home/user/../../etc/passwd',
      '/proc/self/environ',
    ]) {
      const read = await envd('GET', `/files?path=${encodeURIComponent(path)}`);
      expect([path, read.status, read.json()['message']]).toEqual([path, 403, OUTSIDE]);
      expect((await write(path, 'x')).json()['message']).toEqual(OUTSIDE);
      const listed = await envd('POST', '/filesystem.Filesystem/Stat', { body: { path } });
      expect(listed.json()).toEqual({ code: 'permission_denied', message: OUTSIDE });
    }
  });

  test.each([
    ['/etc/x', 403],
    ['../x', 403],
    ['/workspace/../x', 403],
    ['', 400],
    ['/', 403],
    ['a\0b', 400],
  ])('writes no file of a form that is named %j', async (name, status) => {
    const head = `--x\r\nContent-Disposition: form-data; name="file"; filename="${name}"`;
    const answer = await envd('POST', '/files', {
      body: Buffer.from(`${head}\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--x--\r\n`),
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    expect([answer.status, answer.json()['code']]).toEqual([status, status]);
  });

  test('follows no link out of /workspace', async () => {
    const argv = ['-l', '-c', 'ln -sfn / /workspace/out'];
    await start({ process: { cmd: '/bin/bash', args: argv } });
    const read = await envd('GET', '/files?path=/workspace/out/etc/passwd');
    expect([read.status, read.json()['message']]).toEqual([403, OUTSIDE]);
  });

  test('runs nothing as root', async () => {
    const authorization = `Basic ${Buffer.from('root:').toString('base64')}`;
    const answer = await envd('POST', '/process.Process/List', { body: {}, headers: { authorization } });
    expect(answer.json()).toEqual({
      code: 'permission_denied',
      message: expect.stringContaining('user: "root" does not exist here'),
    });
    expect((await envd('GET', '/files?path=a&username=root')).status).toBe(403);
  });

  test.each([
    ['no JSON', Buffer.from('{'), 'Invalid JSON body'],
    ['a field that does not exist', { path: '/workspace', dept: 1 }, 'did you mean "depth"?'],
    ['a path that is a number', { path: 7 }, 'path: '],
    ['a depth that is too large', { path: '/workspace', depth: 1_000 }, 'depth: '],
  ])('names what is wrong: %s', async (_what, body, reason) => {
    const answer = await envd('POST', '/filesystem.Filesystem/ListDir', { body });
    expect([answer.status, answer.json()['code']]).toEqual([400, 'invalid_argument']);
    expect(answer.json()['message']).toContain(reason);
  });

  test.each(['toString', 'constructor', 'Nothing'])('has no call %s', async (name) => {
    const answer = await envd('POST', `/process.Process/${name}`, { body: {} });
    expect([answer.status, answer.json()['code']]).toEqual([501, 'unimplemented']);
  });

  test.each([
    ['binary Protocol Buffers', { 'content-type': 'application/proto' }],
    ['a compressed message', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('takes no %s', async (_what, headers) => {
    const body = gzipSync('{"path": "/workspace"}');
    const answer = await envd('POST', '/filesystem.Filesystem/ListDir', { body, headers });
    expect([answer.status, answer.json()['code']]).toEqual([501, 'unimplemented']);
  });

  test.each([
    ['a compressed envelope', envelope(1, gzipSync('x'.repeat(9_999_999))), 'flags are 1'],
    ['trailers', Buffer.concat([envelope(0, '{}'), envelope(2, '{}')]), 'it announces 2 bytes, and 9 came'],
    ['a length of 4 GiB', envelope(0, '{}', 0xff_ff_ff_ff), 'announces 4294967295 bytes'],
    ['no bytes', Buffer.alloc(0), 'it has 0 bytes'],
    ['a message that is no JSON', envelope(0, '{'), 'Invalid JSON body'],
    ['an unknown field', envelope(0, '{"process": {"cmd": "true", "shell": true}}'), 'unknown field "shell"'],
  ])('starts nothing of %s', async (_what, body, reason) => {
    const headers = { 'content-type': 'application/connect+json' };
    const answer = await envd('POST', '/process.Process/Start', { body, headers });
    expect(answer.text).toContain('"code":"invalid_argument"');
    expect(answer.text).toContain(JSON.stringify(reason).slice(1, -1));
    expect(answer.text).not.toContain('"start"');
  });

  test('refuses a message that is larger than a message may be', async () => {
    const body = Buffer.alloc(3_000_000, ' ');
    const answer = await envd('POST', '/process.Process/List', { body });
    expect(answer.json()['code']).toBe('resource_exhausted');
  });
});

/** An envelope of the Connect protocol. @param length that it announces */
function envelope(flags: number, message: string | Buffer, length = message.length): Buffer {
  const head = Buffer.from([flags, 0, 0, 0, 0]);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(message)]);
}

/** Runs a command to its end, and returns the envelopes as text. */
async function start(message: object): Promise<string> {
  const answer = await envd('POST', '/process.Process/Start', {
    body: envelope(0, Buffer.from(JSON.stringify(message))),
    headers: { 'content-type': 'application/connect+json' },
  });
  return answer.text;
}

test('shows no environment of a process', async () => {
  const begun = await start({
    process: { cmd: '/bin/sh', args: ['-c', 'sleep 60 >/dev/null 2>&1 & echo $!'], envs: { SECRET: 'hush' } },
  });
  expect(begun).toContain('"exitCode":0');
  const listed = await envd('POST', '/process.Process/List', { body: {} });
  expect(listed.text).not.toContain('hush');
});

describe('a signed URL', () => {
  const sign = (path: string, operation: string, { token = sandbox.envdAccessToken, expires = '' } = {}) => {
    const parts = [path, operation, '', token, ...(expires === '' ? [] : [expires])];
    const hash = createHash('sha256').update(parts.join(':')).digest('base64').replace(/=+$/, '');
    const query = new URLSearchParams({ path, signature: `v1_${hash}` });
    if (expires !== '') query.set('signature_expiration', expires);
    return `/files?${query.toString()}`;
  };
  const open = (path: string, method = 'GET') =>
    porthole.call(method, `/e2b/envd${path}`, {
      headers: { 'e2b-sandbox-id': sandbox.sandboxID },
      ...(method === 'POST' && { body: Buffer.from('changed') }),
    });
  const seconds = (count: number) => String(Math.floor(clock.now().getTime() / 1_000) + count);

  test('opens its file, and no other, for reading or writing, until it ends', async () => {
    await write('/workspace/a.txt', 'hello');
    await write('/workspace/b.txt', 'secret');
    expect((await open(sign('/workspace/a.txt', 'read'))).text).toBe('hello');
    expect((await open(sign('/workspace/a.txt', 'read', { expires: seconds(60) }))).text).toBe('hello');
    const moved = sign('/workspace/a.txt', 'read').replace('a.txt', 'b.txt');
    const prolonged = sign('/workspace/a.txt', 'read', { expires: seconds(1) }).replace(
      seconds(1),
      seconds(9_999),
    );
    for (const refused of [
      moved,
      prolonged,
      sign('/workspace/a.txt', 'read', { expires: seconds(-1) }),
      sign('/workspace/a.txt', 'write'),
      sign('/workspace/a.txt', 'read', { token: 'guessed' }),
      '/files?path=/workspace/a.txt&signature=',
      '/files?path=/workspace/a.txt&signature=v1_',
      `/files?path=/workspace/a.txt&signature=v1_${'%C3%A9'.repeat(43)}`,
    ]) {
      expect([refused, (await open(refused)).status]).toEqual([refused, 401]);
    }
    expect((await open(sign('/workspace/a.txt', 'read'), 'POST')).status).toBe(401);
    expect((await open(sign('/workspace/a.txt', 'write'), 'POST')).status).toBe(200);
    expect((await open(sign('/workspace/a.txt', 'read'))).text).toBe('changed');
  });

  test('says when it has expired, as E2B does, and takes the text of a form', async () => {
    const over = await open(sign('/workspace/a.txt', 'read', { expires: seconds(-1) }));
    expect(over.json()).toEqual({ code: 401, message: 'signature is already expired' });
    const form = new FormData();
    form.append('file', 'text of a form');
    const written = await fetch(
      `http://127.0.0.1:${porthole.host.port}/e2b/envd${sign('form.txt', 'write')}`,
      {
        method: 'POST',
        body: form,
        headers: { 'e2b-sandbox-id': sandbox.sandboxID },
      },
    );
    expect(await written.json()).toEqual([{ name: 'form.txt', path: '/home/user/form.txt', type: 'file' }]);
    expect((await open(sign('form.txt', 'read'))).text).toBe('text of a form');
    expect((await open(sign('form.txt', 'read'), 'HEAD')).status).toBe(200);
  });

  test('is for its sandbox and its user', async () => {
    const other = await create();
    const named = (path: string, { sandboxID }: Sandbox) =>
      porthole.call('GET', `/e2b/envd${path}`, { headers: { 'e2b-sandbox-id': sandboxID } });
    await envd('POST', '/files?path=a.txt', { of: other, body: Buffer.from('of the other') });
    const url = sign('a.txt', 'read');
    expect((await named(url, sandbox)).status).not.toBe(401);
    for (const refused of [
      await named(url, other),
      await named(url, { ...other, sandboxID: 'a2345' }),
      await named(url, { ...other, sandboxID: '' }),
      await named(`${url}&username=user`, sandbox),
      await named(`${url}&username=root`, sandbox),
      await named(`${url}&path=/workspace/b.txt`, sandbox),
      await named(`${url}&signature_expiration=9999999999`, sandbox),
      await named(`${url}&signature_expiration=never`, sandbox),
    ]) {
      expect([401, 400]).toContain(refused.status);
      expect(refused.text).not.toContain('of the other');
    }
    // The token of another user's sandbox signs nothing here.
    const foreign = await create({}, BOB);
    expect((await named(sign('a.txt', 'read', { token: foreign.envdAccessToken }), sandbox)).status).toBe(
      401,
    );
  });

  test('opens nothing but files', async () => {
    const [, query = ''] = sign('/workspace/a.txt', 'read').split('?');
    for (const path of ['/health', '/metrics', '/envs']) {
      expect([path, (await open(`${path}?${query}`)).status]).toEqual([path, 401]);
    }
  });

  test('ends with the token of its sandbox', async () => {
    const url = sign('/workspace/a.txt', 'read');
    const rotated = await porthole.call('POST', `/v1/sandbox/${sandbox.sandboxID}/token`, {
      token: ALICE,
      body: {},
    });
    expect(rotated.status).toBe(200);
    expect((await open(url)).status).toBe(401);
    sandbox = (await control('POST', `/v2/sandboxes/${sandbox.sandboxID}/connect`, {})).json();
    expect((await open(sign('/workspace/a.txt', 'read'))).text).toBe('changed');
  });
});

describe('a time-out', () => {
  const pass = () => runLifecyclePass(porthole.host.services);
  const stateOf = async ({ sandboxID }: Sandbox) => {
    const answer = await control('GET', `/sandboxes/${sandboxID}`);
    return answer.status === 200 ? answer.json()['state'] : answer.status;
  };

  test('ends the sandbox, or stops it if it was asked to', async () => {
    const [killed, paused, longer] = [
      await create({ timeout: 60 }),
      await create({ timeout: 60, autoPause: true }),
      await create({ timeout: 60 }),
    ];
    await control('POST', `/sandboxes/${longer.sandboxID}/timeout`, { timeout: 600 });
    clock.advance({ seconds: 59 });
    await pass();
    expect(await Promise.all([killed, paused, longer].map(stateOf))).toEqual([
      'running',
      'running',
      'running',
    ]);
    clock.advance({ seconds: 2 });
    await pass();
    expect(await Promise.all([killed, paused, longer].map(stateOf))).toEqual([404, 'paused', 'running']);
    expect((await control('POST', `/v2/sandboxes/${killed.sandboxID}/connect`, {})).status).toBe(404);
    const resumed = await control('POST', `/v2/sandboxes/${paused.sandboxID}/connect`, { timeout: 60 });
    expect(resumed.status).toBe(201);
    expect(await stateOf(paused)).toBe('running');
  }, 60_000);

  test('is set and removed by its own route', async () => {
    const { sandboxID } = sandbox;
    const set = (body: object) =>
      porthole.call('PUT', `/v1/sandbox/${sandboxID}/timeout`, { token: ALICE, body });
    const at = new Date(clock.now().getTime() + 90_000).toISOString();
    expect((await set({ seconds: 90, on_timeout: 'delete' })).json()).toMatchObject({
      timeout_at: at,
      on_timeout: 'delete',
    });
    expect((await set({ seconds: null })).json()).toMatchObject({ timeout_at: null, on_timeout: 'delete' });
    for (const seconds of [0, -1, 1.5, 604_801, '90']) expect((await set({ seconds })).status).toBe(400);
  });
});
