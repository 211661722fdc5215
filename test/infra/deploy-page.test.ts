import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { describeRights } from '../../build/reference/describe-rights.ts';
import { describeSettings } from '../../build/reference/describe-settings.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const read = (page: string) => readFileSync(join(DOCS, page), 'utf8');

test('deploys by one page, which links to every page of reference', () => {
  const quickstart = read('guides/deploy.md');
  expect(quickstart.split(/\s+/).length).toBeLessThan(1_000);
  const pagesOf = (folder: string) =>
    readdirSync(join(DOCS, folder)).filter((name) => name.startsWith('deploy-'));
  const links = [...pagesOf('guides'), ...pagesOf('reference').map((name) => `../reference/${name}`)];
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((link) => !quickstart.includes(`](${link})`))).toEqual([]);
});

test('lists every setting with its default on the page of settings', () => {
  const rows = read('reference/deploy-settings.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  expect(rows).toEqual(
    describeSettings().map(({ key, default: byDefault, what }) => `| \`${key}\` | ${byDefault} | ${what} |`),
  );
});

test('lists every right of the accounts, and what it is for, on the page of rights', () => {
  const rows = read('reference/deploy-rights.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const mark = (has: boolean) => (has ? '✓' : '');
  const marks = { never: '', always: '✓', 'where it archives': 'archives' };
  expect(rows).toEqual(
    describeRights().map(
      ({ right, what, pods, claims, reaper, lifecycle, snapshots }) =>
        `| \`${right}\` | ${mark(pods)} | ${mark(claims)} | ${mark(reaper)} | ${marks[lifecycle]} | ${mark(snapshots)} | ${what} |`,
    ),
  );
});
