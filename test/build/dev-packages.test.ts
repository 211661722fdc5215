import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
let folder: string;

function write(path: string, text: string): void {
  mkdirSync(join(folder, dirname(path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'porthole-dev-packages-'));
  write('package.json', JSON.stringify({ type: 'module', devDependencies: { first: '1.0.0' } }));
  write('node_modules/first/package.json', '{}');
  for (const each of ['infra', 'policies', 'examples/lambda']) write(`${each}/package.json`, '{}');
  write('policies/package.json', JSON.stringify({ peerDependencies: { '@a/b': '1.0.0' } }));
  cpSync(join(ROOT, 'build/dev-packages.ts'), join(folder, 'build/dev-packages.ts'));
  // An npm that notes its arguments, and speaks.
  write(
    'bin/npm',
    `#!/bin/sh
echo "$*" >> calls
echo from npm
[ ! -e fails ] || exit 1
mkdir -p node_modules/@a/b
echo '{}' > node_modules/@a/b/package.json
`,
  );
  chmodSync(join(folder, 'bin/npm'), 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

function installed() {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['build/dev-packages.ts'], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: [join(folder, 'bin'), process.env['PATH']].join(delimiter) },
  });
  return { status, stdout, stderr };
}
const calls = () => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');

test('installs the packages for development once, and writes nothing to stdout', () => {
  const first = installed();
  expect(first).toMatchObject({ status: 0, stdout: '' });
  expect(first.stderr).toMatch(/^Installing the packages for development, once: .+\nfrom npm\n$/);
  expect(installed()).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(calls()).toEqual([
    'install --no-save --include=dev --include=peer --ignore-scripts --no-audit --no-fund',
  ]);
});

test('starts from nothing after an installation that did not end', () => {
  write('fails', '');
  expect(installed()).toMatchObject({ status: 1, stdout: '' });
  // All are there, but one may be incomplete.
  write('node_modules/@a/b/package.json', '{}');
  rmSync(join(folder, 'fails'));
  expect(installed().status).toBe(0);
  expect(installed().stderr).toBe('');
  expect(calls().map((call) => call.split(' ')[0])).toEqual(['install', 'ci']);
});
