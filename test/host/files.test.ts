import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { firstAnswer, rawExchange } from './support/raw-exchange.ts';
import { makeRun, outcome } from './support/runs.ts';

const MAX = 33_554_432;

// The bridge's contract covers files, and test/hostile covers hostile paths; this covers other
// failures of an upload or a download.
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
  /** Every file of the workspace that an upload could leave behind. */
  const leftovers = () => sh('find . -name ".porthole-*"');

  test('are refused with 413 at 32 MiB and 1 byte in chunks, and leave nothing', async () => {
    const bytes = Buffer.alloc(MAX + 1);
    const text = await rawExchange(
      porthole.host.port,
      Buffer.concat([
        Buffer.from(
          `PUT ${at('workspace/too-large')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n`,
        ),
        bytes,
        Buffer.from('\r\n0\r\n\r\n'),
      ]),
    );
    expect(firstAnswer(text)).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
    expect(await sh('ls too-large 2>&1 | grep -c "^too-large$"; true')).toBe('0\n');
    expect(await leftovers()).toBe('');
  });

  test('are answered as bytes that no browser sniffs', async () => {
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

  test.each([
    ['that is not there', 'workspace/nothing'],
    ['below a file', 'workspace/round-trip/x'],
    ['that is a link to nothing', 'workspace/dangling'],
  ])('reading a path %s is 404', async (_name, path) => {
    await sh('ln -sfn nowhere dangling; touch round-trip');
    const answer = await get(path);
    expect(outcome(answer)).toEqual([404, 'workspace_read_not_found']);
    expect(answer.json<{ error: string }>().error).toBe(`File not found: /${path}`);
  });

  test('leave nothing after an upload that is cut off, not even a temporary file', async () => {
    await put('workspace/kept', 'as it was');
    const cutOff = async (name: string) => {
      const socket = connect(porthole.host.port, '127.0.0.1');
      socket.write(
        `PUT ${at(`workspace/${name}`)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`,
      );
      // In progress: its temporary file exists.
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
    expect(outcome(await get('workspace/never'))).toEqual([404, 'workspace_read_not_found']);
  });

  test('report the reason of the system when they cannot be written', async () => {
    await sh('mkdir closed; chmod 555 closed');
    const answer = await put('workspace/closed/a', 'x');
    expect(outcome(answer)).toEqual([502, 'workspace_archive_write_error']);
    expect(answer.json<{ error: string }>().error).toMatch(/: Permission denied$/);
  });

  test('are read only if they are regular files', async () => {
    await sh('mkfifo pipe');
    expect(outcome(await get('workspace/pipe'))).toEqual([400, 'invalid_request']);
  });

  test('are no longer read when the client stops reading', async () => {
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

  test('keep one of 16 uploads of one file at once whole', async () => {
    const contents = Array.from({ length: 16 }, (_, n) => String.fromCharCode(97 + n).repeat(100_000));
    const answers: Answer[] = await Promise.all(
      contents.map((content) => put('workspace/contested', content)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
    expect(contents).toContain((await get('workspace/contested')).text);
    expect(await leftovers()).toBe('');
  });
});
