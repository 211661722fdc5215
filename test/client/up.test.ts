import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { awaitServer } from '../../client/cli/up/await-server.ts';
import { bringEdits } from '../../client/cli/up/bring-edits.ts';
import { Porthole } from '../../client/node/index.ts';
import type { Run } from '../../client/resources/run.ts';
import { porthole, startPorthole } from './support/porthole-command.ts';

interface Line {
  readonly event: string;
  readonly preview_url?: string;
  readonly run_id?: string;
  readonly sandbox_id?: string;
  readonly port?: number;
}

describe('porthole up', () => {
  let host: TestHost;
  let root: string;
  let environment: Record<string, string>;
  let client: Porthole;

  beforeAll(async () => {
    host = await startTestHost();
    root = await mkdtemp(join(tmpdir(), 'porthole-up-'));
    environment = {
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      XDG_CACHE_HOME: join(root, 'cache'),
    };
    client = new Porthole({ url: environment['PORTHOLE_URL'] });
  });
  afterAll(async () => {
    await host.end();
    await rm(root, { recursive: true });
  });

  /** A folder with these files. */
  const project = async (name: string, files: Readonly<Record<string, string>>): Promise<string> => {
    const folder = join(root, name);
    await mkdir(folder);
    for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
    return folder;
  };
  const linesOf = (stdout: string) =>
    stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  const ready = async (...words: string[]): Promise<Line> => {
    const { code, stdout, stderr } = await porthole(words, environment);
    expect([code, stderr]).toEqual([0, '']);
    return linesOf(stdout).at(-1) as Line;
  };
  const seen = async ({ preview_url: url = '' }: Line): Promise<string> =>
    (await host.call('GET', '/', { host: new URL(url).host })).text;

  test('shows a folder, follows its edits, and comes back at the same URL', async () => {
    const folder = await project('site', { 'index.html': 'one', '.gitignore': '*.log', 'a.log': 'x' });
    const line = await ready('up', folder, '--json');
    expect(await seen(line)).toBe('one');
    const sandbox = client.sandboxes.at(line.sandbox_id ?? '');
    expect((await porthole(['list'], environment)).stdout).toMatch(
      new RegExp(`^${sandbox.id} +site-[0-9a-f]{6} +running +\\d+s +default$`, 'm'),
    );
    await writeFile(join(folder, 'index.html'), 'two, edited');
    while ((await seen(line)) !== 'two, edited') await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await sandbox.files.list()).entries.map(({ name }) => name)).not.toContain('a.log');
    await sandbox.stop();

    const back = await ready('up', folder, '--json');
    expect(back).toEqual(line);
    await mkdir(join(folder, 'sub'));
    await writeFile(join(folder, 'sub/index.html'), 'new');
    const sub = () => sandbox.files.text('sub/index.html').catch(() => '');
    while ((await sub()) !== 'new') await new Promise((resolve) => setTimeout(resolve, 20));
    await writeFile(join(folder, 'sub/index.html'), 'newer');
    while ((await sub()) !== 'newer') await new Promise((resolve) => setTimeout(resolve, 20));
    await sandbox.delete();
  });

  test('serves static files on the port that --port names, in the allowed range', async () => {
    const folder = await project('page', { 'index.html': 'on 4567' });
    for (const port of ['99', '9999']) {
      const { code, stderr } = await porthole(['up', folder, '--port', port], environment);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`porthole: --port must be between 3000 and 9000, got ${port}.\n`),
      ]);
    }
    const line = await ready('up', folder, '--json', '--port', '4567');
    expect([line.port, await seen(line)]).toEqual([4567, 'on 4567']);
    await client.sandboxes.at(line.sandbox_id ?? '').delete();
  });

  test('gives the server variables of options, files and this shell, and shows their values nowhere', async () => {
    const folder = await project('variables', {
      'server.cjs': `const { A, B, C, D } = process.env;
require('node:http').createServer((_, response) => response.end(JSON.stringify({ A, B, C, D }))).listen(process.env.PORT);`,
    });
    const file = join(root, 'variables.env');
    await writeFile(file, '# ours\nA=secret-of-file\nexport B="secret b"\n');
    const command = ['up', folder, '--json', '--port', '4324'];
    const server = ['--', 'node', 'server.cjs'];
    const given = ['--env-from', file, '--env', 'A=secret-of-option', '--env', 'C'];
    const { code, stdout, stderr } = await porthole([...command, ...given, ...server], {
      ...environment,
      C: 'secret-of-shell',
    });
    expect([code, stderr]).toEqual([0, '']);
    const line = linesOf(stdout).at(-1) as Line;
    expect(JSON.parse(await seen(line))).toEqual({
      A: 'secret-of-option',
      B: 'secret b',
      C: 'secret-of-shell',
    });
    const sandbox = client.sandboxes.at(line.sandbox_id ?? '');
    const titles = await sandbox.exec(['sh', '-c', "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]).text();
    const shown = [stdout, titles, JSON.stringify(await sandbox.servers.list()), ...host.logged];
    expect(shown.join('\n')).not.toContain('secret');
    await sandbox.stop();
    // Each `up` says all variables of the server.
    const again = await ready(...command, '--env', 'D=', ...server);
    expect(JSON.parse(await seen(again))).toEqual({ D: '' });
    await sandbox.delete();
  });

  test.each([
    [['--env', '=secret'], '--env must be NAME or NAME=VALUE, got the name "".'],
    [['--env', 'A B=secret'], '--env must be NAME or NAME=VALUE, got the name "A B".'],
    [
      ['--env', 'NOT_HERE'],
      '--env NOT_HERE: there is no such variable here. Give it a value: --env NOT_HERE=…',
    ],
    [['--env-from', '/nowhere/.env'], '--env-from /nowhere/.env cannot be read (ENOENT).'],
  ])('refuses %j before anything is made, without the value', async (words, message) => {
    const folder = await project(`refused-${words.join('').replaceAll('/', '')}`, { 'index.html': 'x' });
    const { code, stderr } = await porthole(['up', folder, ...words], environment);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`porthole: ${message}`)]);
    expect(stderr).not.toContain('secret');
    const file = join(root, 'broken.env');
    await writeFile(file, '1 secret=A\n');
    const broken = await porthole(['up', folder, '--env-from', file], environment);
    expect(broken.stderr).toContain(`--env-from ${file} has a line that is not NAME=VALUE.`);
    expect(broken.stderr).not.toContain('secret');
  });

  test('takes the port that the server chose, and prints its log', async () => {
    const script = `console.log('on its own port');
require('node:http').createServer((_, response) => response.end('chosen')).listen(4321);`;
    const folder = await project('node', {
      'package.json': JSON.stringify({ scripts: { start: 'node server.cjs' } }),
      'server.cjs': script,
    });
    const running = startPorthole(['up', folder, '--port', '4322'], environment);
    const url = (await running.until('\n')).trim();
    expect(await seen({ event: 'ready', preview_url: url })).toBe('chosen');
    await running.until('on its own port', 'stderr');
    running.child.kill('SIGINT');
    const { code, stderr } = await running.outcome;
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /Started package\.json \(npm run start\) on port 4321.*listens on port 4321, not on 4322.*on its own port.*Stopped\./s,
    );
  });

  test('brings edits of the sandbox with --both, and none through a link', async () => {
    const folder = await project('both', { 'index.html': 'one', 'mine.txt': 'one', '.gitignore': '*.log' });
    await writeFile(join(root, 'outside.txt'), 'not theirs');
    await symlink(root, join(folder, 'out'));
    const running = startPorthole(['up', folder, '--both'], environment);
    await running.until('Edits in the sandbox come here', 'stderr');
    const name = createHash('sha256')
      .update(await realpath(folder))
      .digest('hex')
      .slice(0, 32);
    const { files } = await client.sandboxes.create({ sessionKey: `porthole-up-${name}` });
    await files.write('made.log', 'ignored');
    await files.write('out/outside.txt', 'theirs');
    await running.until('not synced: out/outside.txt, a link here leads elsewhere', 'stderr');
    await files.write('new/page.html', 'theirs');
    await running.until('From the sandbox: new/page.html', 'stderr');
    expect(await readFile(join(folder, 'new/page.html'), 'utf8')).toBe('theirs');
    await files.write('index.html', 'two');
    await running.until('From the sandbox: index.html', 'stderr');
    expect(await readFile(join(folder, 'index.html'), 'utf8')).toBe('two');
    await files.delete('mine.txt');
    await running.until('From the sandbox: mine.txt removed', 'stderr');
    running.child.kill('SIGINT');
    await running.outcome;
    expect((await readdir(folder)).sort()).toEqual(['.gitignore', 'index.html', 'new', 'out']);
    expect(await readFile(join(root, 'outside.txt'), 'utf8')).toBe('not theirs');
  });

  test('keeps a file that has changed here and in the sandbox', async () => {
    const folder = await project('kept', { 'mine.txt': 'changed since it was sent' });
    const sandbox = await client.sandboxes.create();
    const end = new AbortController();
    const notes: string[] = [];
    const note = (line: string): Promise<void> => Promise.resolve(void notes.push(line));
    const bringing = bringEdits(sandbox, folder, { signal: end.signal, note, excludes: [] });
    const until = async (words: string): Promise<void> => {
      while (!notes.includes(words)) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await until('Edits in the sandbox come here');
    await sandbox.files.write('mine.txt', 'theirs');
    await until('Kept mine.txt: it has changed here, too');
    end.abort();
    await bringing;
    expect(await readFile(join(folder, 'mine.txt'), 'utf8')).toBe('changed since it was sent');
    await sandbox.delete();
  });

  test('says why a server does not come up, and leaves nothing running', async () => {
    const folder = await project('broken', { 'notes.txt': '' });
    const slow = ['up', folder, '--keep', '--timeout', '1s', '--', 'sleep 600'];
    const kept = await porthole(slow, environment);
    expect([kept.code, kept.stderr]).toEqual([
      1,
      expect.stringContaining('Still running. Stop it: porthole stop'),
    ]);
    expect(kept.stderr).toContain('The server still runs: give it longer with --timeout 5m');
    const command = ['up', folder, '--timeout', '1s', '--', 'echo "no module named app" >&2; exit 3'];
    const { code, stdout, stderr } = await porthole(command, environment);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('porthole: The server ended with code 3.\nIts last lines:\n  no module');
    // There is no server to start any more, and no sandbox.
    expect(stderr).not.toContain('Nothing listens on port 3000');
    const missing = ['up', folder, '--timeout', '1s', '--', 'no-such-program --port 3000'];
    expect((await porthole(missing, environment)).stderr).toContain(
      'The server ended with code 127 (program no-such-program not found: install it, or correct the command).',
    );
    expect(stderr).toContain('Stopped.');
    for await (const { info } of client.sandboxes.list({ state: 'running' }))
      expect(info?.session_key).not.toMatch(/^porthole-up/);
  });

  test('stops the sandbox that is being made at Ctrl-C', async () => {
    const folder = await project('early', { 'index.html': 'one' });
    const proxy = createServer((incoming, outgoing) => {
      const { method = '', url = '', headers } = incoming;
      if (method === 'POST' && url === '/v1/sandbox') running.child.kill('SIGINT');
      const to = { host: '127.0.0.1', port: host.host.port, method, path: url, headers };
      incoming.pipe(
        request(to, (answer) => answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers))),
      );
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const running = startPorthole(['up', folder], {
      ...environment,
      PORTHOLE_URL: `http://127.0.0.1:${port}`,
    });
    const { code, stderr } = await running.outcome;
    proxy.close();
    expect([code, stderr]).toEqual([130, expect.stringContaining('Stopped. The files stay')]);
    expect(JSON.parse((await porthole(['stop', folder, '--json'], environment)).stdout)).toMatchObject({
      state: 'stopped',
    });
    for await (const { info } of client.sandboxes.list({ state: 'running' }))
      expect(info?.session_key).not.toMatch(/^porthole-up/);
  });

  test('ends when the sandbox is stopped elsewhere, by the name of its folder', async () => {
    const folder = await project('elsewhere', { 'index.html': 'one' });
    const running = startPorthole(['up', folder], environment);
    const url = (await running.until('\n')).trim();
    const of = async (command: string, ...more: string[]) =>
      (await porthole([command, '.', ...more], environment, { cwd: folder })).stdout;
    expect(await of('status')).toBe(`3000 ${url}\n`);
    expect(await of('preview', '3000', '--once')).toBe(`${url}\n`);
    expect((await of('ps')).match(/http\.server/g)).toHaveLength(1);
    expect(await of('stop')).toMatch(/ stopped\n$/);
    const { code, stderr } = await running.outcome;
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('porthole: The sandbox was stopped by another command, or in the console.'),
    ]);
    expect((await porthole(['logs', './none'], environment, { cwd: root })).stderr).toContain(
      'there is no folder "./none".',
    );
    expect((await porthole(['logs', '..'], environment, { cwd: folder })).stderr).toContain(
      '.. has no sandbox yet. Make one: porthole up ..',
    );
  });

  test('has one URL for two commands at the same time', async () => {
    const folder = await project('twice', { 'index.html': 'one' });
    const [first, second] = await Promise.all([1, 2].map(() => ready('up', folder, '--json')));
    expect(first).toEqual(second);
    await porthole(['delete', folder], environment);
  });

  test('waits for a server that is slower than the guest expects', async () => {
    const looks = [[], [{ port: 3000, server: 'up' }]];
    const server = {
      info: () => Promise.resolve({ state: 'failed', pid: 12, restarts: 0, exit: null }),
    };
    const preview = { ready: true };
    const run = {
      serve: () => Promise.resolve(server),
      ports: { list: () => Promise.resolve(looks.shift() ?? []) },
      preview: () => Promise.resolve(preview),
      sandbox: {
        async *events() {
          yield await Promise.resolve({ type: 'file_written' });
        },
      },
    } as unknown as Run;
    const wanted = { name: 'up', command: 'go run .', port: 3000, cwd: '' };
    const { signal } = new AbortController();
    expect(await awaitServer(run, wanted, { timeoutMs: 60_000, signal })).toEqual({ server, preview });
  });

  test('lists what it looked for where it finds no command, and makes nothing', async () => {
    const folder = await project('empty', { 'notes.txt': '' });
    const before = (await host.call('GET', '/v1/sandbox')).text;
    const { code, stderr } = await porthole(['up', folder], environment);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /found no command in .*Looked for:.*package\.json with a dev or start script.*manage\.py/s,
    );
    expect(stderr).toContain(`porthole up ${folder} --port 3000 -- node server.js`);
    expect((await host.call('GET', '/v1/sandbox')).text).toBe(before);
    expect((await porthole(['up', join(root, 'none')], environment)).stderr).toContain('there is no folder');
  });
});
