/** What E2B's own test suites expect of files, snapshots, forks and ends of sandboxes. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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

async function create(rest: object = {}): Promise<Sandbox> {
  const answer = await control('POST', '/v2/sandboxes', { templateID: 'base', ...rest });
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.json();
}

interface EnvdRequest {
  readonly of?: Sandbox;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const envd = (
  method: string,
  path: string,
  { of = sandbox, body, headers = {} }: EnvdRequest = {},
): Promise<Answer> =>
  porthole.call(method, `/e2b/envd${path}`, {
    headers: { 'e2b-sandbox-id': of.sandboxID, 'x-access-token': of.envdAccessToken, ...headers },
    ...(body !== undefined && { body }),
  });

const files = (method: string, body: object, of = sandbox) =>
  envd('POST', `/filesystem.Filesystem/${method}`, { body, of });
const BYTES = { 'content-type': 'application/octet-stream' };
const write = (path: string, text: string | Buffer, headers: Record<string, string> = {}, of = sandbox) =>
  envd('POST', `/files?path=${encodeURIComponent(path)}`, {
    of,
    body: Buffer.from(text),
    headers: { ...BYTES, ...headers },
  });
const read = (path: string, of = sandbox) => envd('GET', `/files?path=${encodeURIComponent(path)}`, { of });

/** Runs a command to its end. */
async function run(cmd: string, cwd?: string): Promise<string> {
  const text = Buffer.from(
    JSON.stringify({ process: { cmd: '/bin/sh', args: ['-c', cmd], ...(cwd !== undefined && { cwd }) } }),
  );
  const head = Buffer.alloc(5);
  head.writeUInt32BE(text.length, 1);
  const answer = await envd('POST', '/process.Process/Start', { body: Buffer.concat([head, text]) });
  return [...answer.text.matchAll(/"stdout":"([^"]*)"/g)]
    .map(([, data = '']) => Buffer.from(data, 'base64').toString())
    .join('');
}

describe('files of /tmp', () => {
  test('are written, listed, moved and removed where commands find them', async () => {
    const written = await write('/tmp/of-e2b/a.txt', 'hello');
    expect(written.json()).toEqual([{ name: 'a.txt', path: '/tmp/of-e2b/a.txt', type: 'file' }]);
    expect(await run('cat /tmp/of-e2b/a.txt; pwd', '/tmp/of-e2b')).toBe('hello/tmp/of-e2b\n');
    await files('Move', { source: '/tmp/of-e2b/a.txt', destination: '/tmp/of-e2b/b.txt' });
    const listed = await files('ListDir', { path: '/tmp/of-e2b' });
    expect(listed.json()['entries']).toMatchObject([{ name: 'b.txt', path: '/tmp/of-e2b/b.txt', size: '5' }]);
    expect((await read('/tmp/of-e2b/b.txt')).text).toBe('hello');
    await files('Remove', { path: '/tmp/of-e2b' });
    expect((await files('Stat', { path: '/tmp/of-e2b' })).json()['code']).toBe('not_found');
    expect((await files('Remove', { path: '/tmp/of-e2b' })).status).toBe(200);
    expect((await read('/workspace/of-e2b/b.txt')).status).toBe(404);
  });

  test('lead nowhere else', async () => {
    await run('ln -sfn / /tmp/out; ln -sfn /workspace /tmp/in; echo x > /workspace/x');
    for (const path of [
      '/tmp/out/etc/passwd',
      '/tmp/../etc/passwd',
      '/tmp/in/x',
      '/tmpfile',
      '/etc/passwd',
    ]) {
      expect([path, (await read(path)).status]).toEqual([path, 403]);
      expect([path, (await write(path, 'x')).status]).toEqual([path, 403]);
    }
    const moved = await files('Move', { source: '/tmp/out', destination: '/workspace/out' });
    expect(moved.json()).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('different disks'),
    });
  });

  test('are named as they are in errors', async () => {
    await files('MakeDir', { path: '/tmp/workspace' });
    const messages = [
      await read('/tmp/workspace/none'),
      await write('/tmp/workspace', 'x'),
      await files('ListDir', { path: '/tmp/none' }),
      await read('/tmp/out/etc/passwd'),
    ].map((answer) => answer.json()['message']);
    expect(messages).toEqual([
      expect.stringContaining('/tmp/workspace/none'),
      expect.stringContaining('/tmp/workspace is a directory'),
      expect.stringContaining('/tmp/none'),
      expect.stringContaining('within /tmp'),
    ]);
    for (const message of messages) expect(message).not.toMatch(/(?<!\/tmp)\/workspace/);
  });

  test('are not for a credential that runs no commands', async () => {
    await write('/tmp/secret', 'secret');
    const delegated = await porthole.call('POST', `/v1/sandbox/${sandbox.sandboxID}/delegate`, {
      token: ALICE,
      body: { scopes: ['fs:read', 'fs:write'], ttl_seconds: 600 },
    });
    const of = { ...sandbox, envdAccessToken: delegated.json<{ token: string }>().token };
    expect((await write('/workspace/open', 'open', {}, of)).status).toBe(200);
    expect((await read('/workspace/open', of)).text).toBe('open');
    expect((await read('/tmp/secret', of)).status).toBe(403);
    expect((await write('/tmp/secret', 'x', {}, of)).status).toBe(403);
    expect((await files('ListDir', { path: '/tmp' }, of)).json()['code']).toBe('permission_denied');
    expect((await files('CreateWatcher', { path: '/tmp' }, of)).json()['code']).toBe('permission_denied');
  });
});

describe('an upload', () => {
  test('may be compressed', async () => {
    const gzip = { 'content-encoding': 'gzip' };
    expect((await write('zipped.txt', gzipSync('plain text'), gzip)).status).toBe(200);
    expect((await read('zipped.txt')).text).toBe('plain text');
    const broken = await write('broken.txt', 'no gzip at all', gzip);
    expect([broken.status, broken.json()['error_code']]).toEqual([400, 'invalid_request']);
    const cut = await write('cut.txt', gzipSync('x'.repeat(9_999)).subarray(0, 20), gzip);
    expect(cut.status).toBe(400);
    expect((await write('odd.txt', 'x', { 'content-encoding': 'br' })).status).toBe(415);
    for (const path of ['broken.txt', 'cut.txt', 'odd.txt']) expect((await read(path)).status).toBe(404);
  });

  test('of several files is for one disk, and whole or not at all', async () => {
    const form = (...paths: readonly string[]) => {
      const parts = paths.map(
        (path) => `--x\r\nContent-Disposition: form-data; name="file"; filename="${path}"\r\n\r\n${path}\r\n`,
      );
      return envd('POST', '/files', {
        body: Buffer.from(`${parts.join('')}--x--\r\n`),
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
      });
    };
    expect((await form('many/a', '/home/user/many/b')).json()).toMatchObject([
      { path: '/home/user/many/a' },
      { path: '/home/user/many/b' },
    ]);
    expect((await form('/tmp/many/a', '/tmp/many/b')).status).toBe(200);
    expect((await read('/tmp/many/b')).text).toBe('/tmp/many/b');
    const mixed = await form('mixed/a', '/tmp/mixed/b');
    expect([mixed.status, mixed.json()['message']]).toEqual([400, expect.stringContaining('two forms')]);
    expect((await form('mixed/a', '/etc/b')).status).toBe(403);
    expect((await form()).status).toBe(400);
    expect((await read('mixed/a')).status).toBe(404);
  });
});

describe('a part of a file', () => {
  const part = (range: string, headers: Record<string, string> = {}) =>
    envd('GET', '/files?path=parts.txt', { headers: { range, ...headers } });

  test('is read by its range', async () => {
    await write('parts.txt', '0123456789');
    for (const [range, text, shown] of [
      ['bytes=2-4', '234', 'bytes 2-4/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=0-0', '0', 'bytes 0-0/10'],
      ['bytes=8-99', '89', 'bytes 8-9/10'],
    ] as const) {
      const answer = await part(range);
      expect([answer.status, answer.text, answer.headers['content-range']]).toEqual([206, text, shown]);
      expect(answer.headers['content-length']).toBe(String(text.length));
    }
    const beyond = await part('bytes=10-');
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, 'bytes */10']);
    expect(beyond.json()).toMatchObject({ code: 416, message: 'The file has 10 bytes' });
  });

  test.each(['bytes=-3', 'bytes=0-1,4-5', 'bytes=4-2', 'lines=1-2', 'bytes=99999999999999999999-'])(
    'is the whole file for %s',
    async (range) => {
      await write('parts.txt', '0123456789');
      expect([(await part(range)).status, (await part(range)).text]).toEqual([200, '0123456789']);
    },
  );

  test('is the whole file where it depends on what the file was', async () => {
    expect((await part('bytes=2-4', { 'if-range': '"old"' })).text).toBe('0123456789');
  });

  test('of a folder, or of nothing, says so', async () => {
    const headers = { range: 'bytes=0-1' };
    expect((await envd('GET', '/files?path=/workspace', { headers })).status).toBe(400);
    expect((await envd('GET', '/files?path=nothing', { headers })).status).toBe(404);
    expect((await envd('GET', '/files?path=/etc/passwd', { headers })).status).toBe(403);
  });
});

describe('metadata of a file', () => {
  const headers = { 'x-metadata-author': 'me', 'x-metadata-Purpose': 'a test' };
  const metadata = { author: 'me', purpose: 'a test' };
  const stat = async (path: string) => (await files('Stat', { path })).json()['entry'];

  test.each(['noted.txt', '/tmp/noted.txt'])('is kept, and moves with it: %s', async (path) => {
    expect((await write(path, 'a', headers)).json()).toMatchObject([{ metadata }]);
    expect(await stat(path)).toMatchObject({ metadata });
    const listed = await files('ListDir', { path: path.startsWith('/') ? '/tmp' : '/workspace' });
    const entries = listed.json<{ entries: { name: string }[] }>().entries;
    expect(entries.find(({ name }) => name === 'noted.txt')).toMatchObject({ metadata });
    const moved = await files('Move', { source: path, destination: `${path}.moved` });
    expect(moved.json()['entry']).toMatchObject({ metadata });
    expect((await write(`${path}.moved`, 'b')).json()).toMatchObject([{ type: 'file' }]);
    expect(await stat(`${path}.moved`)).not.toHaveProperty('metadata');
  });

  test('is that of all files of a form, also of those that are there', async () => {
    await write('forms/old', 'old', { 'x-metadata-stale': 'yes' });
    const parts = ['forms/old', 'forms/new/er', '/home/user/forms/link'].map(
      (path) => `--x\r\nContent-Disposition: form-data; name="file"; filename="${path}"\r\n\r\n${path}\r\n`,
    );
    await run('touch target; ln -sfn ../target forms/link', '/workspace');
    const answer = await envd('POST', '/files', {
      body: Buffer.from(`${parts.join('')}--x--\r\n`),
      headers: { 'content-type': 'multipart/form-data; boundary=x', ...headers },
    });
    expect(answer.json()).toMatchObject([{ metadata }, { metadata }, { metadata }]);
    for (const path of ['forms/old', 'forms/new/er', 'target']) {
      expect([path, await stat(path)]).toEqual([path, expect.objectContaining({ metadata })]);
    }
  });

  test('that a command sets is shown as far as it is text, and not too large', async () => {
    const set = (name: string, value: string) => `os.setxattr('/workspace/odd', 'user.${name}', ${value});`;
    const sets = [
      set('e2b.good', "b'yes'"),
      set('e2b.bytes', "b'\\xff'"),
      set('e2b.line', "b'a\\nb'"),
      set('other', "b'no'"),
      set('e2b.a', "b'x' * 3000"),
    ];
    await run(`echo > /workspace/odd; python3 -c "import os; ${sets.join(' ')}"`);
    expect(await stat('odd')).toMatchObject({ metadata: { good: 'yes', a: 'x'.repeat(3_000) } });
  });

  test.each([
    ['a value that is not ASCII', { 'x-metadata-a': 'é' }],
    ['more than 4 KiB', { 'x-metadata-a': 'x'.repeat(4_090) }],
    ['a name of 247 bytes', { [`x-metadata-${'a'.repeat(247)}`]: 'x' }],
    ['no name', { 'x-metadata-': 'x' }],
  ])('with %s is refused, and nothing is written', async (_what, odd) => {
    const answer = await write('refused.txt', 'a', odd);
    expect([answer.status, answer.json()['message']]).toEqual([400, expect.stringContaining('X-Metadata-*')]);
    expect((await read('refused.txt')).status).toBe(404);
  });
});

test('a link has its target, and the type of that', async () => {
  await write('target.txt', 'x');
  await run('ln -sfn target.txt link; ln -sfn nothing broken', '/workspace');
  const stat = async (path: string) => (await files('Stat', { path })).json()['entry'];
  expect(await stat('link')).toMatchObject({
    type: 'FILE_TYPE_FILE',
    symlinkTarget: '/home/user/target.txt',
  });
  expect(await stat('broken')).toMatchObject({
    type: 'FILE_TYPE_SYMLINK',
    symlinkTarget: '/home/user/nothing',
  });
});

describe('a watcher', () => {
  const start = async (path: string, recursive = false) =>
    (await files('CreateWatcher', { path, recursive, includeEntry: true })).json<{ watcherId: string }>();
  const take = async (watcher: object) => {
    const { events = [] } = (await files('GetWatcherEvents', watcher)).json<{
      events?: { name: string; type: string }[];
    }>();
    return events.map(({ name, type }) => `${name} ${type.replace('EVENT_TYPE_', '')}`);
  };

  test('has the changes since it was asked, and ends', async () => {
    await write('watched/old.txt', 'old');
    const watcher = await start('watched');
    expect(await take(watcher)).toEqual([]);
    await write('watched/new.txt', 'new');
    expect(await take(watcher)).toEqual(['new.txt CREATE', 'new.txt CHMOD', 'new.txt WRITE']);
    await write('watched/old.txt', 'changed');
    await files('Remove', { path: 'watched/new.txt' });
    expect((await take(watcher)).sort()).toEqual(['new.txt REMOVE', 'old.txt WRITE']);
    expect((await files('RemoveWatcher', watcher)).status).toBe(200);
    expect((await files('GetWatcherEvents', watcher)).json()['code']).toBe('not_found');
  });

  test('sees files in folders that are new, where it was asked to', async () => {
    await files('MakeDir', { path: 'deep' });
    const [deep, flat] = [await start('deep', true), await start('deep')];
    await write('deep/one/two/a.txt', 'a');
    expect(await take(deep)).toContain('one/two/a.txt WRITE');
    expect(await take(flat)).toEqual(['one CREATE']);
  });

  test.each(['nothing', '["x","/etc",false]', '["x"]', '[1,2,3]'])('is no id %s', async (watcherId) => {
    const answer = await files('GetWatcherEvents', { watcherId });
    expect([400, 403]).toContain(answer.status);
  });

  test('of a folder that is none is refused', async () => {
    expect((await files('CreateWatcher', { path: 'nowhere' })).json()['code']).toBe('not_found');
  });
});

describe('a snapshot', () => {
  interface Snapshot {
    readonly snapshotID: string;
    readonly names: readonly string[];
  }
  const take = async (name?: string): Promise<Snapshot> =>
    (
      await control('POST', `/sandboxes/${sandbox.sandboxID}/snapshots`, name === undefined ? {} : { name })
    ).json();
  const list = async (query = '', key = ALICE): Promise<string[]> =>
    (await control('GET', `/snapshots${query}`, undefined, key))
      .json<Snapshot[]>()
      .map(({ snapshotID }) => snapshotID);

  test('is a template of its owner, until it is deleted', async () => {
    await write('state.txt', 'before');
    const [unnamed, named] = [await take(), await take('release')];
    await write('state.txt', 'after');
    expect(named.names).toEqual(['release']);
    expect(await list()).toEqual(expect.arrayContaining([unnamed.snapshotID, named.snapshotID]));
    expect(await list('?name=release')).toEqual([named.snapshotID]);
    expect(await list('?sandboxID=another')).toEqual([]);
    expect(await list('', BOB)).toEqual([]);
    const path = `/templates/${named.snapshotID}`;
    const used = { templateID: named.snapshotID };
    expect((await control('DELETE', path, undefined, BOB)).status).toBe(404);
    expect((await control('POST', '/v2/sandboxes', used, BOB)).status).toBe(404);
    const made = await create({ ...used, metadata: { of: 'snapshot' }, envVars: { A: '1' } });
    expect((await read('state.txt', made)).text).toBe('before');
    expect((await control('GET', `/sandboxes/${made.sandboxID}`)).json()['metadata']).toEqual({
      of: 'snapshot',
    });
    expect((await control('DELETE', path)).status).toBe(204);
    expect((await control('DELETE', path)).status).toBe(404);
    expect((await control('POST', '/v2/sandboxes', used)).status).toBe(404);
    expect((await control('DELETE', '/templates/base')).status).toBe(404);
  }, 60_000);

  test('is made for each fork', async () => {
    await write('state.txt', 'forked');
    const answer = await control('POST', `/sandboxes/${sandbox.sandboxID}/fork`, { count: 2 });
    const forks = answer.json<{ sandbox: Sandbox }[]>().map((each) => each.sandbox);
    expect(forks).toHaveLength(2);
    for (const fork of forks) {
      expect(fork.sandboxID).not.toBe(sandbox.sandboxID);
      expect((await read('state.txt', fork)).text).toBe('forked');
    }
    for (const count of [0, 21]) {
      const path = `/sandboxes/${sandbox.sandboxID}/fork`;
      expect((await control('POST', path, { count })).status).toBe(400);
    }
  }, 60_000);
});

describe('a time-out', () => {
  const stateOf = async ({ sandboxID }: Sandbox) => {
    const answer = await control('GET', `/sandboxes/${sandboxID}`);
    return answer.status === 200 ? answer.json()['state'] : answer.status;
  };

  test('ends to the second for each call', async () => {
    const [killed, used, listed, paused] = [
      await create({ timeout: 60 }),
      await create({ timeout: 60 }),
      await create({ timeout: 60, metadata: { which: 'listed' } }),
      await create({ timeout: 60, autoPause: true, metadata: { which: 'paused' } }),
    ];
    clock.advance({ seconds: 59 });
    expect(await stateOf(killed)).toBe('running');
    clock.advance({ seconds: 2 });
    expect(await stateOf(killed)).toBe(404);
    expect((await envd('GET', '/health', { of: used })).status).toBe(502);
    expect((await control('GET', '/v2/sandboxes?metadata=which%3Dlisted')).json()).toEqual([]);
    expect((await control('GET', '/v2/sandboxes?metadata=which%3Dpaused')).json()).toMatchObject([
      { sandboxID: paused.sandboxID, state: 'paused' },
    ]);
    expect(await stateOf(listed)).toBe(404);
    expect((await envd('GET', '/health', { of: paused })).status).toBe(502);
  }, 60_000);

  test('is prolonged by a connection, and not shortened', async () => {
    const { sandboxID } = await create({ timeout: 600 });
    const endOf = async () => (await control('GET', `/sandboxes/${sandboxID}`)).json()['endAt'];
    const first = await endOf();
    await control('POST', `/v2/sandboxes/${sandboxID}/connect`, { timeout: 60 });
    await control('POST', `/sandboxes/${sandboxID}/refreshes`, { duration: 60 });
    expect(await endOf()).toBe(first);
    await control('POST', `/sandboxes/${sandboxID}/refreshes`, { duration: 900 });
    expect(await endOf()).toBe(new Date(clock.now().getTime() + 900_000).toISOString());
  });
});

test('sandboxes are listed by template and time, in either order', async () => {
  const metadata = { batch: 'ordered' };
  const one = await create({ metadata });
  clock.advance({ seconds: 1 });
  const between = clock.now().toISOString();
  const two = await create({ metadata });
  const list = async (query: string) =>
    (await control('GET', `/v2/sandboxes?metadata=batch%3Dordered&${query}`))
      .json<Sandbox[]>()
      .map(({ sandboxID }) => sandboxID);
  expect(await list('order=asc')).toEqual([one.sandboxID, two.sandboxID]);
  expect(await list('order=desc&template=base')).toEqual([two.sandboxID, one.sandboxID]);
  expect(await list(`startedAfter=${encodeURIComponent(between)}`)).toEqual([two.sandboxID]);
  expect(await list('template=another')).toEqual([]);
});
