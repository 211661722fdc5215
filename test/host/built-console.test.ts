import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CONSOLE_SOURCES } from '#handlers/console/console-folder.ts';
import { isConsoleBuilt } from '#host/run.ts';

let root: string;
let mark: string;
const page = () => join(root, 'console/src/page.tsx');
/** Marks what is there now as built: at the next tick of the clock that the kernel gives files. */
const build = () => {
  const newest = statSync(join(root, 'console/src/other.tsx')).ctimeMs;
  do writeFileSync(mark, 'digest');
  while (statSync(mark).mtimeMs <= newest);
};

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'porthole-sources-'));
  mark = join(root, 'mark');
  for (const file of [...CONSOLE_SOURCES.slice(1), 'console/src/page.tsx', 'console/src/other.tsx']) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), 'source');
  }
});
afterEach(() => rmSync(root, { recursive: true }));

test('knows a build that is newer than its sources, without reading them', () => {
  expect(isConsoleBuilt(root, mark)).toBe(false);
  build();
  expect(isConsoleBuilt(root, mark)).toBe(true);
});

test.each<[string, () => void]>([
  ['changed', () => writeFileSync(page(), 'another')],
  ['removed', () => rmSync(page())],
  ['renamed', () => renameSync(page(), join(root, 'console/src/page.css'))],
  [
    'changed, with an old time',
    () => {
      writeFileSync(page(), 'another');
      utimesSync(page(), 1, 1);
    },
  ],
])('has a build checked after a source was %s', (_, change) => {
  build();
  change();
  expect(isConsoleBuilt(root, mark)).toBe(false);
});

test('takes an installation without the sources for built', () => {
  rmSync(join(root, 'build'), { recursive: true });
  expect(isConsoleBuilt(root, mark)).toBe(true);
});
