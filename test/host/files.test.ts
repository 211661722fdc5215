import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { firstAnswer, rawExchange } from './support/raw-exchange.ts';
import { makeRun, verdict } from './support/runs.ts';

const MAX = 33_554_432;

describe('files', () => {
  let porthole: TestHost;
  let id: string;
  beforeAll(async () => {
    porthole = await startTestHost();
    ({ sandboxId: id } = await makeRun(porthole));
  });
  afterAll(() => porthole.end());

  const at = (path: string) => `/v1/sandbox/${id}/file/${path}`;
  const put = (path: string, body: Buffer | string) => porthole.call('PUT', at(path), { body });
  const get = (path: string) => porthole.call('GET', at(path));
  const sh = async (script: string) => (await execute(porthole, id, ['sh', '-c', script])).stdout.toString();
  /** Every file of the workspace that an upload could have left behind. */
  const leftovers = () => sh('find . -name ".porthole-*"');

  test.each<[string, number]>([
    ['empty', 0],
    ['of 1 byte', 1],
    ['of 64 KiB and 1', 65_537],
    ['of exactly 32 MiB', MAX],
  ])('a file %s comes back as it was', async (_name, size) => {
    const bytes = randomBytes(size);
    const written = await put('workspace/round-trip', bytes);
    expect([written.status, written.json()]).toEqual([200, { ok: true }]);
    const hash = createHash('sha256').update(bytes).digest('hex');
    expect(await sh('sha256sum < round-trip; stat -c %s round-trip')).toBe(`${hash}  -\n${size}\n`);
    const read = await rawGet(porthole.host.port, at('workspace/round-trip'));
    expect([read.head.startsWith('HTTP/1.1 200 '), read.body.equals(bytes)]).toEqual([true, true]);
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    [
      'with a length',
      (bytes) => Buffer.concat([Buffer.from(`Content-Length: ${bytes.length}\r\n\r\n`), bytes]),
    ],
    [
      'in chunks',
      (bytes) =>
        Buffer.concat([
          Buffer.from(`Transfer-Encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n`),
          bytes,
          Buffer.from('\r\n0\r\n\r\n'),
        ]),
    ],
  ])('32 MiB and 1 byte %s is 413 and leaves nothing', async (_name, framed) => {
    const body = framed(Buffer.alloc(MAX + 1));
    const text = await rawExchange(
      porthole.host.port,
      Buffer.concat([
        Buffer.from(`PUT ${at('workspace/too-large')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`),
        body,
      ]),
    );
    expect(firstAnswer(text)).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
    expect(await sh('ls too-large 2>&1 | grep -c "^too-large$"; true')).toBe('0\n');
    expect(await leftovers()).toBe('');
  });

  test.each([
    ['spaces', 'a b  c'],
    ['a per cent sign', '100%'],
    ['what looks encoded', '%2e%2e%2f'],
    ['a hash', 'a#b'],
    ['a question mark', 'what?'],
    ['a plus', 'a+b'],
    ['quotes', `it's "quoted"`],
    ['a backslash', 'a\\b'],
    ['a dollar and backticks', '$HOME`id`'],
    ['a semicolon', 'a;b&c'],
    ['a leading dash', '-rf'],
    ['a leading dot', '.hidden'],
    ['three dots', '...'],
    ['a newline', 'a\nb'],
    ['UTF-8', 'naïve – 窓 🪟.txt'],
    ['200 characters', 'n'.repeat(200)],
  ])('a name with %s round-trips', async (_name, name) => {
    const path = `workspace/names/${encodeURIComponent(name)}`;
    expect((await put(path, `in ${name}`)).status).toBe(200);
    const read = await get(path);
    expect([read.status, read.text]).toEqual([200, `in ${name}`]);
    const there = await execute(porthole, id, ['cat', '--', `/workspace/names/${name}`]);
    expect(there.stdout.toString()).toBe(`in ${name}`);
  });

  test('the answer is bytes that no browser sniffs', async () => {
    await put('workspace/page.html', '<script>alert(1)</script>');
    const { headers } = await get('workspace/page.html');
    expect(headers['content-type']).toBe('application/octet-stream');
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  test('missing folders are made, and a file is replaced whole', async () => {
    await put('workspace/new/and/deep/file', 'first, and longer');
    await put('workspace/new/and/deep/file', 'second');
    expect((await get('workspace/new/and/deep/file')).text).toBe('second');
    expect(await sh('stat -c %a new/and/deep/file')).toBe('644\n');
  });

  test.each<[string, string, [number, string]]>([
    ['outside the workspace', 'etc/passwd', [403, 'invalid_request']],
    ['that climbs out', 'workspace/../../etc/passwd', [403, 'invalid_request']],
    ['that climbs out, encoded', 'workspace/%2e%2e/%2e%2e/etc/passwd', [403, 'invalid_request']],
    ['that climbs out with encoded slashes', 'workspace%2F..%2F..%2Fetc%2Fpasswd', [403, 'invalid_request']],
    ['that only begins like the workspace', 'workspace2/x', [403, 'invalid_request']],
    ['through /proc', 'proc/self/root/etc/passwd', [403, 'invalid_request']],
    ['through a link to a folder outside', 'workspace/out/passwd', [403, 'invalid_request']],
    ['that is a link to a file outside', 'workspace/secret', [403, 'invalid_request']],
    ['with a NUL', 'workspace/a%00b', [400, 'invalid_request']],
    ['that is a folder', 'workspace/outputs', [400, 'invalid_request']],
    ['that is the workspace', 'workspace', [400, 'invalid_request']],
    ['that is empty', '', [400, 'invalid_request']],
  ])('a path %s is neither read nor written', async (_name, path, expected) => {
    await sh('ln -sfn /etc out; ln -sfn /etc/passwd secret');
    const before = await sh('ls -la /etc | sha256sum');
    expect(verdict(await get(path))).toEqual(expected);
    expect(verdict(await put(path, 'hacked'))).toEqual(expected);
    expect(await sh('ls -la /etc | sha256sum')).toBe(before);
    expect(await leftovers()).toBe('');
  });

  test('a link within the workspace is followed', async () => {
    await sh('mkdir -p real; echo -n old > real/file; ln -sfn real alias; ln -sfn real/file shortcut');
    await put('workspace/alias/file', 'through the folder');
    expect((await get('workspace/shortcut')).text).toBe('through the folder');
    await put('workspace/shortcut', 'through the link');
    expect(await sh('cat real/file; test -L shortcut && echo " still a link"')).toBe(
      'through the link still a link\n',
    );
  });

  test.each([
    ['that is not there', 'workspace/nothing'],
    ['below a file', 'workspace/round-trip/x'],
    ['that is a link to nothing', 'workspace/dangling'],
  ])('reading a path %s is 404', async (_name, path) => {
    await sh('ln -sfn nowhere dangling; touch round-trip');
    const answer = await get(path);
    expect(verdict(answer)).toEqual([404, 'workspace_read_not_found']);
    expect(answer.json<{ error: string }>().error).toBe(`File not found: /${path}`);
  });

  test('an upload that is cut off leaves nothing, not even a temporary file', async () => {
    await put('workspace/kept', 'as it was');
    const cutOff = async (name: string) => {
      const socket = connect(porthole.host.port, '127.0.0.1');
      socket.write(
        `PUT ${at(`workspace/${name}`)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`,
      );
      // Under way: its temporary file is there.
      await sh(
        'n=0; while [ -z "$(ls -A | grep ^.porthole-)" ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done',
      );
      expect(await leftovers()).not.toBe('');
      socket.destroy();
      await sh(
        'n=0; while [ -n "$(ls -A | grep ^.porthole-)" ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done',
      );
      expect(await leftovers()).toBe('');
    };
    await cutOff('kept');
    await cutOff('never');
    expect((await get('workspace/kept')).text).toBe('as it was');
    expect(verdict(await get('workspace/never'))).toEqual([404, 'workspace_read_not_found']);
  });

  test('an upload whose writer in the sandbox is killed is answered at once, and leaves nothing', async () => {
    const socket = connect(porthole.host.port, '127.0.0.1');
    const answer = new Promise<string>((resolve) =>
      socket.once('data', (bytes) => resolve(bytes.toString())),
    );
    socket.write(
      `PUT ${at('workspace/killed')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`,
    );
    await sh('n=0; while ! pkill -9 -x cat && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done');
    expect(await answer).toMatch(/^HTTP\/1\.1 502 [^]*"code":"workspace_archive_write_error"/);
    socket.destroy();
    expect(await leftovers()).toBe('');
    expect(verdict(await get('workspace/killed'))).toEqual([404, 'workspace_read_not_found']);
  });

  test('a file that cannot be written is answered with the reason of the system', async () => {
    await sh('mkdir closed; chmod 555 closed');
    const answer = await put('workspace/closed/a', 'x');
    expect(verdict(answer)).toEqual([502, 'workspace_archive_write_error']);
    expect(answer.json<{ error: string }>().error).toMatch(/: Permission denied$/);
  });

  test('what is no regular file is not read', async () => {
    await sh('mkfifo pipe');
    expect(verdict(await get('workspace/pipe'))).toEqual([400, 'invalid_request']);
  });

  test('a client that reads no further stops the reading', async () => {
    await sh('head -c 33554432 /dev/zero > large');
    const socket = connect(porthole.host.port, '127.0.0.1');
    socket.write(`GET ${at('workspace/large')} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    const { stdout } = await execute(porthole, id, [
      'sh',
      '-c',
      'n=0; while pgrep -x cat >/dev/null 2>&1 && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done; pgrep -x cat || echo none',
    ]);
    expect(stdout.toString()).toBe('none\n');
  });

  test('refused uploads leave the connection in step', async () => {
    const mebibyte = 'x'.repeat(1_048_576);
    const upload = (path: string) =>
      `PUT ${at(path)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${mebibyte.length}\r\n\r\n${mebibyte}`;
    const text = await rawExchange(
      porthole.host.port,
      `${upload('workspace/outputs')}${upload('etc/x')}GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect([...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)).toEqual([
      '400',
      '403',
      '200',
    ]);
  });

  test('16 uploads of one file at once leave one of them whole', async () => {
    const contents = Array.from({ length: 16 }, (_, n) => String.fromCharCode(97 + n).repeat(100_000));
    const answers: Answer[] = await Promise.all(
      contents.map((content) => put('workspace/contested', content)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
    expect(contents).toContain((await get('workspace/contested')).text);
    expect(await leftovers()).toBe('');
  });
});

/** A GET whose body is kept as bytes. */
async function rawGet(port: number, path: string): Promise<{ head: string; body: Buffer }> {
  const text = await rawExchange(port, `GET ${path} HTTP/1.0\r\nHost: localhost\r\n\r\n`);
  const end = text.indexOf('\r\n\r\n');
  return { head: text.slice(0, end), body: Buffer.from(text.slice(end + 4), 'latin1') };
}
