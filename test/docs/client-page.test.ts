import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { buildPackage } from '../../build/build-packages.ts';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

const CLIENT = join(import.meta.dirname, '../../client');
const page = await readFile(join(CLIENT, 'README.md'), 'utf8');
const scripts = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] as string);

let host: TestHost;
let folder: string;
let environment: Record<string, string>;

beforeAll(async () => {
  host = await startTestHost();
  folder = await mkdtemp(join(tmpdir(), 'porthole-readme-'));
  const installed = join(folder, 'node_modules/@porthole/client');
  await mkdir(join(folder, 'bin'), { recursive: true });
  await mkdir(installed, { recursive: true });
  await mkdir(join(folder, 'app'));
  await writeFile(join(folder, 'app/index.html'), 'Hello');
  await symlink(join(CLIENT, 'package.json'), join(installed, 'package.json'));
  await buildPackage('client', join(installed, 'dist'));
  for (const name of ['canonicalize', 'ignore', 'uqr', 'ws']) {
    await symlink(join(CLIENT, '../node_modules', name), join(folder, 'node_modules', name));
  }
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  const main = join(installed, 'dist/cli/main.js');
  await writeFile(join(folder, 'bin/porthole'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  await chmod(join(folder, 'bin/porthole'), 0o755);
  environment = {
    PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    ...COMPILE_CACHE,
  };
});
afterAll(async () => {
  await host.end();
  await rm(folder, { recursive: true });
});

/**
 * The machine's own Node: 20 or later, as the page requires. npm puts Porthole's own first on the
 * path.
 */
const machineNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((each) => !each.includes('node_modules'))
  .map((each) => join(each, 'node'))
  .find((each) => existsSync(each));
if (machineNode === undefined) throw new Error('no Node on the path beside the one of node_modules');

const runtimes = {
  'Node 24, as written': (script: string) => ({ node: process.execPath, file: 'example.ts', code: script }),
  "the machine's Node, compiled": async (script: string) => ({
    node: machineNode,
    file: 'example.js',
    code: (await transform(script, { loader: 'ts', target: 'es2022', format: 'esm' })).code,
  }),
};

describe.each(Object.entries(runtimes))('on %s', (_runtime, prepare) => {
  /** Runs an example; its files go to the test's folder. */
  async function run(script: string): Promise<string> {
    const { node, file, code } = await prepare(script);
    await writeFile(join(folder, file), code.replaceAll('/tmp/porthole-readme-', join(folder, 'synced-')));
    const { stdout } = await promisify(execFile)(node, [join(folder, file)], {
      cwd: folder,
      env: environment,
    });
    return stdout;
  }

  test('runs the first example: a folder in a live preview', async () => {
    expect(await run(scripts[0] as string)).toMatch(/^http:\/\/\S+-preview\.localhost:\d+ Hello\n$/);
    const { sandboxes } = (await host.call('GET', '/v1/sandbox')).json<{ sandboxes: { id: string }[] }>();
    for (const { id } of sandboxes) await host.call('DELETE', `/v1/sandbox/${id}`);
  });

  test('runs the example of a command', async () => {
    expect(await run(scripts[1] as string)).toBe('console.log("hello from", process.cwd())\nended with 0\n');
  });

  test('runs the example of a process and a server: what it says to its input, and who listens', async () => {
    expect(await run(scripts[2] as string)).toBe('hello Ada\n\nended with 0\nweb\n');
  });

  test('runs the example of a folder: all of it once, and then what has changed', async () => {
    const stdout = await run(scripts[3] as string);
    expect(stdout).toMatch(/sent: 2,.*unchanged: 0,.*sent: 1,.*unchanged: 1,/s);
  });

  test('runs the example of a terminal: what is computed there, and how the shell ended', async () => {
    const stdout = await run(scripts[4] as string);
    // The shell may print its prompt before or after it echoes the line.
    expect(stdout).toMatch(/(?:\r\n|\$ )42\r\n/);
    expect(stdout).toMatch(/\{ code: 3 \}\n$/);
  });

  test('runs the example of delegation: tools that work until they are revoked', async () => {
    expect(await run(scripts[5] as string)).toBe(
      [
        'read_file path',
        'write_file path content',
        'exec_command command cwd timeout_seconds',
        'exit code 0\nstdout:\n2\n',
        'unauthorized\n',
      ].join('\n'),
    );
  });
});

test('has no other example of the library', () => {
  expect(scripts).toHaveLength(6);
});

test('runs the example of the command line unchanged', async () => {
  const [, script = ''] = /^```sh\n(.*?)^```$/ms.exec(page) ?? [];
  const here = script.replace(/^export PORTHOLE_URL=.*$/m, '');
  const { stdout } = await promisify(execFile)('sh', ['-ec', here], { env: environment });
  const [id = ''] = stdout.split('\n');
  expect(id).toMatch(/^[a-z2-7]{26}$/);
  expect(stdout.replaceAll(id, 'ID').split('\n')).toEqual([
    'ID',
    'a.txt',
    'outputs',
    '{"exit_code":0,"stdout":"hello\\n","stderr":"","truncated":false}',
    expect.stringMatching(/^ID +NAME +STATE +AGE +IMAGE +TAGS$/),
    expect.stringMatching(/^ID +try +running +\d+s +default$/),
    'ID stopped',
    'ID running',
    'ID deleted',
    '',
  ]);
});
