import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { describeSettings } from './support/describe-settings.ts';

test('the page on deploying lists every setting with its default', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/deploy.md'), 'utf8');
  const [, table = ''] = page.split('## Every setting')[1]?.split('settings -->\n') ?? [];
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual(
    describeSettings().map(({ key, default: byDefault, what }) => `| \`${key}\` | ${byDefault} | ${what} |`),
  );
});
