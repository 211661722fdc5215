/** What `porthole up` installs, and what it leaves after a failure. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/node/index.ts';
import { porthole } from './support/porthole-command.ts';

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

  const project = async (name: string, files: Readonly<Record<string, string>>): Promise<string> => {
    const folder = join(root, name);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return folder;
  };
  const sandboxes = async (): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { id } of client.sandboxes.list()) ids.push(id);
    return ids;
  };
  /** A project with a dependency in one of its folders: npm needs no network. */
  const withPackage = (name: string, scripts: object = {}) =>
    project(name, {
      'package.json': JSON.stringify({
        scripts: { start: 'node server.cjs', ...scripts },
        dependencies: { lib: 'file:./lib' },
      }),
      'lib/package.json': '{"name": "lib", "version": "1.0.0"}',
      'lib/index.js': "module.exports = 'from the package';",
      'server.cjs': `let text = 'without packages';
try { text = require('lib'); } catch {}
require('node:http').createServer((_, answer) => answer.end(text)).listen(process.env.PORT);`,
    });
  const shown = async (folder: string, ...options: string[]): Promise<string> => {
    const words = ['up', folder, '--json', ...options];
    const { code, stdout, stderr } = await porthole(words, environment);
    expect([code, stderr]).toEqual([0, '']);
    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, string>;
    const { text } = await host.call('GET', '/', { host: new URL(last['preview_url'] ?? '').host });
    await client.sandboxes.at(last['sandbox_id'] ?? '').delete();
    return text;
  };

  test('installs for the command that it finds, unless --no-install is given', async () => {
    const folder = await withPackage('found');
    expect(await shown(folder)).toBe('from the package');
    expect(await shown(folder, '--no-install')).toBe('without packages');
  }, 300_000);

  test('installs for a command after -- only with --install', async () => {
    const folder = await withPackage('given');
    const command = ['--', 'node server.cjs'];
    expect(await shown(folder, ...command)).toBe('without packages');
    expect(await shown(folder, '--install', ...command)).toBe('from the package');
    const { code, stderr } = await porthole(['up', folder, '--install', '--no-install'], environment);
    expect([code, stderr]).toEqual([2, expect.stringContaining('exclude each other')]);
  }, 300_000);

  test('names the step that failed, and removes the sandbox that it made', async () => {
    const folder = await withPackage('failing', { preinstall: 'echo no compiler here >&2; exit 3' });
    const before = await sandboxes();
    const { code, stderr } = await porthole(['up', folder], environment);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Failed after \d+\.\d s: Installing dependencies \(npm install/m);
    expect(stderr).toMatch(/porthole: Installing dependencies failed: npm install.*no compiler here/s);
    expect(stderr).toContain('Removed the sandbox. To look into it after a failure, use --keep.');
    expect(stderr).not.toContain('files stay');
    expect(await sandboxes()).toEqual(before);

    const asJson = await porthole(['up', folder, '--json'], environment);
    const events = asJson.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as object);
    expect(events.filter((_, at) => at !== events.length - 2).slice(-2)).toEqual([
      {
        event: 'failed',
        step: expect.stringContaining('Installing dependencies'),
        seconds: expect.any(Number),
      },
      { event: 'ended', kept: 'nothing' },
    ]);
    expect(await sandboxes()).toEqual(before);
  }, 300_000);

  test('keeps the sandbox of an earlier up, stopped, and that of a failure with --keep', async () => {
    const folder = await project('again', { 'index.html': 'one' });
    const command = ['--timeout', '1s', '--', 'exit 3'];
    const kept = await porthole(['up', folder, '--keep', ...command], environment);
    expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining('Still running. Stop it:')]);
    const { code, stderr } = await porthole(['up', folder, ...command], environment);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Stopped\. Sandbox (\w+) is from an earlier up, so it is kept; porthole delete \1 /m,
    );
    expect(stderr).not.toContain('files stay');
    const status = await porthole(['delete', folder], environment);
    expect(status.code).toBe(0);
  }, 120_000);
});
