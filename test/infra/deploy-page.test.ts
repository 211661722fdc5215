import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { describeRights } from './support/describe-rights.ts';
import { describeSettings } from './support/describe-settings.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/deploy.md'), 'utf8');

test('lists every setting with its default on the page on deploying', () => {
  const [, table = ''] = page.split('## Settings')[1]?.split('settings -->\n') ?? [];
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual(
    describeSettings().map(({ key, default: byDefault, what }) => `| \`${key}\` | ${byDefault} | ${what} |`),
  );
});

test('lists every right of the accounts, and what it is for, on the page on deploying', () => {
  const [, table = ''] = page.split('rights -->\n');
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  const mark = (has: boolean) => (has ? '✓' : '');
  const marks = { never: '', always: '✓', 'where it archives': 'archives' };
  expect(rows).toEqual(
    describeRights().map(
      ({ right, what, pods, claims, reaper, lifecycle, snapshots }) =>
        `| \`${right}\` | ${mark(pods)} | ${mark(claims)} | ${mark(reaper)} | ${marks[lifecycle]} | ${mark(snapshots)} | ${what} |`,
    ),
  );
});
