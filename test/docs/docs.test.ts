import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from '#test/support/suite.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...pagesIn('docs')];

function pagesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file));
}

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');

  test('names only files that exist', () => {
    const named = [...text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|js|json|md|yaml|txt))`/g)].map(
      (match) => match[1] as string,
    );
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test('links only to pages that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map((match) => match[1] as string);
    expect(links.filter((link) => !existsSync(join(ROOT, dirname(page), link)))).toEqual([]);
  });
});

test('names the file of every hop in the path of a request', () => {
  const text = readFileSync(join(ROOT, 'docs/concepts/request-path.md'), 'utf8');
  const hops = text.split(/^\d+\. /m).slice(1);
  expect(hops).toHaveLength(9);
  const isServer = (hop: string) => hop.startsWith('**The server in the sandbox**');
  for (const hop of hops.filter((each) => !isServer(each))) expect(hop).toMatch(/`[\w/-]+\.ts`/);
});

const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze';
const systemdMissing = existsSync(SYSTEMD_ANALYZE)
  ? undefined
  : 'systemd-analyze is not installed: apt-get install systemd';

suite('the units of systemd', systemdMissing, () => {
  const units = readdirSync(join(ROOT, 'examples/systemd'));

  test.each(units)('%s passes systemd-analyze verify', (unit) => {
    const folder = mkdtempSync(join(tmpdir(), 'porthole-units-'));
    for (const each of units) {
      const text = readFileSync(join(ROOT, 'examples/systemd', each), 'utf8');
      // A program and a user that exist here.
      const local = text.replaceAll('/usr/bin/npm', process.execPath).replace('User=porthole', 'User=root');
      writeFileSync(join(folder, each), local);
    }
    const { status, stderr } = spawnSync(
      SYSTEMD_ANALYZE,
      ['verify', '--recursive-errors=no', join(folder, unit)],
      {
        encoding: 'utf8',
      },
    );
    rmSync(folder, { recursive: true });
    expect([status, stderr]).toEqual([0, '']);
  });
});
