import { expect, test } from '@jest/globals';
import { rankPaths, workspacePath } from '../../console/src/files/workspace-search.ts';

const PATHS = [
  '/workspace/src/pages/home-page.tsx',
  '/workspace/src/home.ts',
  '/workspace/home/readme.md',
  '/workspace/package.json',
];

test.each([
  [
    'prefers a name that has the text',
    'home',
    ['/workspace/src/home.ts', '/workspace/src/pages/home-page.tsx'],
  ],
  ['finds letters in their order', 'sphp', ['/workspace/src/pages/home-page.tsx']],
  ['ignores case and spaces', 'Home Page', ['/workspace/src/pages/home-page.tsx']],
  ['finds nothing for other letters', 'xyz', []],
])('%s', (_, typed, first) => {
  expect(rankPaths(PATHS, typed, 50).slice(0, Math.max(1, first.length))).toEqual(first);
});

test('ranks a bounded number of paths', () => {
  expect(rankPaths(PATHS, '', 2)).toHaveLength(2);
});

test.each([
  ['src', '/workspace/src'],
  ['/workspace/src/', '/workspace/src'],
  ['', '/workspace'],
  ['.', '/workspace'],
  ['src/../../etc', undefined],
  ['/etc', undefined],
  ['/workspaces', undefined],
])('reads the typed folder %j', (typed, path) => {
  expect(workspacePath(typed)).toBe(path);
});
