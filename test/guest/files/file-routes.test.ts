/** Files over the guest's HTTP, in a real guest. */
import { once } from 'node:events';
import fs from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { PortholeError } from '#base/errors.ts';
import { heldChanges, watchEvent } from '#protocol/guest/files-protocol.ts';
import { GuestProcess } from '../support/guest-process.ts';

let guest: GuestProcess;
const here = (path: string) => join(guest.workspace, path);
beforeAll(async () => {
  guest = await GuestProcess.start();
});
afterAll(() => guest.stop());

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

async function ask(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string | Buffer,
): Promise<Answer> {
  const socket = await guest.connect();
  const outgoing = httpRequest({
    method,
    path,
    headers: { host: 'guest', ...headers },
    createConnection: () => socket,
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString('latin1');
  socket.destroy();
  return { status: response.statusCode, headers: response.headers, text };
}

describe('a file', () => {
  test('is written and read, in whole or in part, and tells when it has changed', async () => {
    expect((await ask('PUT', '/v1/files?path=a/file', {}, '0123456789')).status).toBe(200);
    const whole = await ask('GET', '/v1/files?path=/workspace/a/file');
    expect([whole.status, whole.text, whole.headers['content-length']]).toEqual([200, '0123456789', '10']);
    const { etag = '' } = whole.headers;
    const some = await ask('GET', '/v1/files?path=a/file', { range: 'bytes=4-', 'if-match': etag });
    expect([some.status, some.text, some.headers['content-range']]).toEqual([206, '456789', 'bytes 4-9/10']);
    const few = await ask('GET', '/v1/files?path=a/file', { range: 'bytes=2-3' });
    expect([few.status, few.text]).toEqual([206, '23']);
    expect((await ask('GET', '/v1/files?path=a/file', { range: 'bytes=11-' })).status).toBe(416);
    fs.appendFileSync(here('a/file'), 'x');
    expect((await ask('GET', '/v1/files?path=a/file', { range: 'bytes=4-', 'if-match': etag })).status).toBe(
      412,
    );
  });

  test('is refused with a message while it is still arriving, and leaves nothing', async () => {
    fs.mkdirSync(here('folder'));
    const answer = await ask('PUT', '/v1/files?path=folder', {}, Buffer.alloc(8_000_000));
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      400,
      { error: '/workspace/folder is a directory: name a file in it.', code: 'invalid_request' },
    ]);
    expect((await ask('PUT', '/v1/files?path=../x', {}, 'x')).status).toBe(403);
    expect(fs.readdirSync(guest.workspace).sort()).toEqual(['a', 'folder']);
  });

  test('leaves nothing behind when the sender goes away', async () => {
    const socket = await guest.connect();
    socket.write('PUT /v1/files?path=cut HTTP/1.1\r\nHost: guest\r\nContent-Length: 1000000\r\n\r\nbegins');
    const isPartial = () => fs.readdirSync(guest.workspace).some((name) => name.startsWith('.porthole-'));
    while (!isPartial()) await after(5);
    socket.destroy();
    while (isPartial()) await after(5);
    expect(fs.readdirSync(guest.workspace).sort()).toEqual(['a', 'folder']);
  });

  test('is moved and deleted, and stays within the limits of the request', async () => {
    const json = { 'content-type': 'application/json' };
    const limits = { 'porthole-paths': '["/workspace/a"]' };
    const move = (headers: Record<string, string>, to: string) =>
      ask('POST', '/v1/move', { ...json, ...headers }, JSON.stringify({ from: 'a/file', to }));
    expect((await move(limits, 'folder/file')).status).toBe(403);
    expect((await move({}, 'folder/file')).status).toBe(200);
    expect((await ask('DELETE', '/v1/files?path=folder', limits)).status).toBe(403);
    expect((await ask('DELETE', '/v1/files?path=folder')).status).toBe(400);
    expect((await ask('DELETE', '/v1/files?path=folder&recursive=true')).status).toBe(200);
    expect((await ask('GET', '/v1/stat?path=folder')).status).toBe(404);
    fs.writeFileSync(here('a/text'), 'one\nTwo');
    const search = async (path: string) => {
      const { status, text } = await ask('GET', `/v1/search?path=${path}&text=two`, limits);
      return [status, ...(status === 200 ? text.split('\n') : [])];
    };
    const found = JSON.stringify({ path: '/workspace/a/text', line: 2, text: 'Two' });
    expect(await search('a')).toEqual([200, found, '{"truncated":false}', '']);
    expect(await search('.')).toEqual([403]);
    expect((await ask('GET', '/v1/list?path=a', { 'porthole-paths': 'none' })).status).toBe(400);
  });
});

test('refuses an archive with a message while most of it is still to come', async () => {
  const archive = Buffer.alloc(4 * 1024 * 1024, 'no tar');
  const answers: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    const { status, text } = await guest.client
      .request('PUT', '/v1/tar?path=/workspace', { body: Readable.from([archive]) })
      .then(() => ({ status: 200, text: '' }))
      .catch((error: PortholeError) => ({ status: error.status, text: error.message }));
    answers.push(`${status} ${text.split(':')[0]}`);
  }
  expect(new Set(answers)).toEqual(new Set(['400 The archive is refused']));
}, 30_000);

test('lists a folder by lines, the last of which says that the list is complete', async () => {
  fs.mkdirSync(here('list/in'), { recursive: true });
  fs.writeFileSync(here('list/é'), 'x');
  const { text } = await ask('GET', '/v1/list?path=list&depth=2');
  const lines = Buffer.from(text, 'latin1')
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(lines).toEqual([
    expect.objectContaining({ path: '/workspace/list/in', type: 'directory' }),
    expect.objectContaining({ path: '/workspace/list/é', type: 'file', size: 1 }),
    { truncated: false },
  ]);
});

test('watches a folder, with the folders that are made in it', async () => {
  fs.mkdirSync(here('seen/old'), { recursive: true });
  const leave = new AbortController();
  const events = guest.client.events('/v1/watch?path=seen&recursive=true', { signal: leave.signal });
  const seen = new Set<string>();
  const until = async (...wanted: readonly string[]) => {
    while (!wanted.every((each) => seen.has(each))) {
      const { value } = await events.next();
      const { type, path, stat } = watchEvent.parse(JSON.parse((value as { data: string }).data));
      seen.add(`${type} ${path.slice('/workspace/'.length)}${stat?.type === 'directory' ? '/' : ''}`);
    }
  };
  await until('ready seen');
  fs.writeFileSync(here('seen/file'), 'x');
  fs.writeFileSync(here('seen/old/file'), 'x');
  await until('changed seen/file', 'changed seen/old/file');
  fs.mkdirSync(here('seen/new/deep'), { recursive: true });
  fs.writeFileSync(here('seen/new/deep/file'), 'x');
  await until('changed seen/new/', 'changed seen/new/deep/', 'changed seen/new/deep/file');
  fs.renameSync(here('seen/new'), here('seen/other'));
  await until('deleted seen/new', 'changed seen/other/', 'changed seen/other/deep/file');
  fs.writeFileSync(here('seen/other/deep/late'), 'x');
  await until('changed seen/other/deep/late');
  fs.rmSync(here('seen'), { recursive: true });
  await until('deleted seen');
  leave.abort();
});

describe('a watch that is asked', () => {
  const json = { 'content-type': 'application/json' };
  const start = async (path: string, recursive = false) => {
    const { text } = await ask('POST', '/v1/watches', json, JSON.stringify({ path, recursive }));
    return (JSON.parse(text) as { id: string }).id;
  };
  const take = async (id: string) => {
    const { status, text } = await ask('POST', `/v1/watches/${id}/take`);
    if (status !== 200) return status;
    const { folder, complete, events } = heldChanges.parse(JSON.parse(text));
    return {
      folder,
      complete,
      events: events.map(({ type, path, is_new }) => `${type} ${path}${is_new ? ' new' : ''}`).sort(),
    };
  };

  test('has each path once, with the content of folders that are new', async () => {
    fs.mkdirSync(here('asked'));
    fs.writeFileSync(here('asked/old'), '');
    const id = await start('asked', true);
    expect(await take(id)).toEqual({ folder: '/workspace/asked', complete: true, events: [] });
    fs.writeFileSync(here('asked/old'), 'more');
    fs.mkdirSync(here('asked/deep/er'), { recursive: true });
    fs.writeFileSync(here('asked/deep/er/file'), 'new');
    expect(await take(id)).toMatchObject({
      events: [
        'changed /workspace/asked/deep new',
        'changed /workspace/asked/deep/er new',
        'changed /workspace/asked/deep/er/file new',
        'changed /workspace/asked/old',
      ],
    });
    fs.rmSync(here('asked/old'));
    expect(await take(id)).toMatchObject({ events: ['deleted /workspace/asked/old'] });
    expect((await ask('DELETE', `/v1/watches/${id}`)).status).toBe(200);
    expect((await ask('DELETE', `/v1/watches/${id}`)).status).toBe(404);
    expect(await take(id)).toBe(404);
  });

  test('says when more has changed than is held', async () => {
    fs.mkdirSync(here('many'));
    const id = await start('many');
    for (let file = 0; file < 4_200; file += 1) fs.writeFileSync(here(`many/${file}`), '');
    expect(await take(id)).toMatchObject({ complete: false });
  });

  test('ends the one that was unused longest if there are too many', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 16; count += 1) ids.push(await start('asked'));
    const [first = '', second = ''] = ids;
    expect(await take(first)).toMatchObject({ complete: true });
    await start('asked');
    expect([await take(second), await take(first)]).toEqual([404, expect.anything()]);
  });

  test('is none of a folder that is none, or beyond the limits', async () => {
    const limits = { ...json, 'porthole-paths': '["/workspace/a"]' };
    expect((await ask('POST', '/v1/watches', json, '{"path":"none"}')).status).toBe(404);
    expect((await ask('POST', '/v1/watches', json, '{"path":"../.."}')).status).toBe(403);
    expect((await ask('POST', '/v1/watches', limits, '{"path":"asked"}')).status).toBe(403);
  });
});

describe('files of /tmp', () => {
  let folder: string;
  let name: string;
  beforeAll(() => {
    folder = fs.mkdtempSync('/tmp/porthole-guest-files-');
    name = folder.slice('/tmp/'.length);
  });
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

  test('have routes of their area, and no way out of it', async () => {
    expect((await ask('PUT', `/v1/tmp/files?path=${name}/a`, {}, 'text')).status).toBe(200);
    expect(fs.readFileSync(join(folder, 'a'), 'utf8')).toBe('text');
    expect((await ask('GET', `/v1/tmp/files?path=/workspace/${name}/a`)).text).toBe('text');
    expect((await ask('GET', `/v1/files?path=${name}/a`)).status).toBe(404);
    fs.symlinkSync('/etc', join(folder, 'out'));
    fs.symlinkSync(guest.workspace, join(folder, 'in'));
    for (const path of [`${name}/out/passwd`, '../etc/passwd', '/etc/passwd', '/tmp/x']) {
      expect([path, (await ask('GET', `/v1/tmp/files?path=${path}`)).status]).toEqual([path, 403]);
    }
    const link = JSON.parse((await ask('GET', `/v1/tmp/stat?path=${name}/out`)).text) as object;
    expect(link).toMatchObject({ type: 'symlink', target: '/etc' });
  });

  test.each([
    'GET /v1/tmp/tar',
    'PUT /v1/tmp/tar',
    'POST /v1/tmp/tree',
    'PUT /v1/tmp/skills',
    'GET /v1/tmp/search',
  ])('are not in %s', async (route) => {
    const [method = '', path = ''] = route.split(' ');
    expect((await ask(method, path)).status).toBe(404);
  });
});
