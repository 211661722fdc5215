import { afterAll, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { WORDS } from '../../build/word-list.ts';

const [WORD] = WORDS;
const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'porthole-check-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
spawnSync('git', ['init', '--quiet', folder]);

const write = (file: string, text: string): void => {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
};

function checkSource(
  file: string,
  text: string,
): { readonly status: number | null; readonly stderr: string } {
  write(file, text);
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'build/check-source.ts'), folder], {
    encoding: 'utf8',
  });
  rmSync(join(folder, file));
  return { status, stderr };
}

test.each([
  ['core/reach.ts', "import { openFile } from '#adapters/open-file.ts';"],
  ['core/reach.ts', "export const later = () => import('../adapters/open-file.ts');"],
  ['handlers/reach.ts', "export type { Open } from '#adapters/open-file.ts';"],
  ['adapters/reach.ts', "import type { Host } from '../host/host.ts';"],
  ['client/reach.ts', "import { errors } from '../core/errors.ts';"],
  ['infra/reach.ts', "import { records } from '../core/records.ts';"],
  ['host/config/reach.ts', "import { route } from '#handlers/route.ts';"],
])('rejects a new arrow: %s with %s', (file, text) => {
  const { status, stderr } = checkSource(file, `${text}\n`);
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^(core|handlers|adapters|client|infra|host\/config)\/reach\.ts: \1 must not import /,
  );
});

test.each([
  ['core/runs/reach.ts', 'core/editor/find-tool.ts'],
  ['core/inbox/reach.ts', 'core/pages/look-at-page.ts'],
  ['handlers/previews/reach.ts', 'handlers/pages/page-routes.ts'],
  ['handlers/runs/reach.ts', 'handlers/mcp/serve-mcp.ts'],
])('rejects an import of the inside of a feature that can be off: %s of %s', (file, inside) => {
  const { status, stderr } = checkSource(file, `export * from '#${inside}';\n`);
  expect(status).toBe(1);
  expect(stderr).toContain(`${file}: only handlers/features.ts, `);
  expect(stderr).toContain(` may import ${inside}: its feature can be off\n`);
});

test('accepts imports of a feature where it is wired, and of what it has open to all', () => {
  const ok = { status: 0, stderr: '' };
  expect(checkSource('handlers/features.ts', "import { a } from './mcp/call-mcp.ts';\n")).toEqual(ok);
  const text = "import { b } from '#core/pages/check-preview.ts';\n";
  expect(checkSource('handlers/previews/reach.ts', text)).toEqual(ok);
});

test('accepts an arrow that CONTRIBUTING.md has', () => {
  const text = "import { errors } from '#base/errors.ts';\nimport { readdir } from 'node:fs/promises';\n";
  expect(checkSource('handlers/reach.ts', text)).toEqual({ status: 0, stderr: '' });
});

test('rejects files of two folders that import each other through a third, and no circle in one', () => {
  write('core/a/one.ts', "import type { Two } from '../b/two.ts';\n");
  write('core/b/two.ts', "export * from './three.ts';\n");
  try {
    const { status, stderr } = checkSource('core/b/three.ts', "import { one } from '../a/one.ts';\n");
    expect(status).toBe(1);
    expect(stderr.split('\n').sort().join('\n').trim()).toBe(
      'core/a/one.ts: core/b/two.ts imports it, too, if only through others\n' +
        'core/b/three.ts: core/a/one.ts imports it, too, if only through others',
    );
    expect(checkSource('core/b/three.ts', "import { two } from './two.ts';\n").status).toBe(0);
  } finally {
    rmSync(join(folder, 'core'), { recursive: true });
  }
});

test.each(['//', '/**', ' *', '#'])('rejects a comment of 101 columns that begins with %s', (start) => {
  const comment = (columns: number) => `${start} `.padEnd(columns, 'a');
  expect(checkSource('core/long.ts', `${comment(100)}\n`)).toEqual({ status: 0, stderr: '' });
  const { status, stderr } = checkSource('core/long.ts', `\n${comment(101)}\n`);
  expect(status).toBe(1);
  expect(stderr).toBe('core/long.ts:2: the comment has 101 columns, the most is 100\n');
});

test.each(['README.md', 'docs/guide.md', 'test/reach.test.ts', 'python/reach.py', 'adapters/reach.cjs'])(
  'rejects a listed word in %s',
  (file) => {
    const text = `It is the ${WORD}.\n`;
    expect(checkSource(file, text)).toMatchObject({ status: 1 });
    expect(checkSource('CHANGELOG.md', text)).toEqual({ status: 0, stderr: '' });
  },
);

test('rejects a listed word', () => {
  expect(checkSource('handlers/reach.ts', `// Fails.\n// The ${WORD}.\n`)).toEqual({
    status: 1,
    stderr: `handlers/reach.ts:2: do not write "${WORD}"; build/word-list.ts has the list\n`,
  });
});

test('rejects a listed word in comments only, in folders that are not fully checked', () => {
  expect(checkSource('build/reach.ts', `export const reach = '${WORD}';\n`).status).toBe(0);
  expect(checkSource('build/reach.ts', `// The ${WORD}.\n`).status).toBe(1);
});

test('rejects a dead export', () => {
  for (const file of ['package.json', 'knip.json']) cpSync(join(ROOT, file), join(folder, file));
  write('host/main.js', "import { used } from '#core/used.ts';\n\nused();\n");
  write('core/used.ts', 'export function used(): void {}\n\nexport const forgotten = 1;\n');
  const knip = join(ROOT, 'node_modules/knip/bin/knip.js');
  const { status, stdout } = spawnSync(process.execPath, [knip, '--no-progress', '--include=exports'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stdout).toMatch(/forgotten +core\/used\.ts:3/);
  expect(stdout).not.toContain('used  ');
});
