import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { changedSince, LAST_SUITES, SUITES_BY_PATH, suitesLeftOut } from '../suites-by-path.ts';

const ROOT = join(import.meta.dirname, '../..');
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'((?:#|\.\.?\/)[^']+)'/g;

/** The files below `test/` that a suite consists of. */
function supportOf(suite: string): string[] {
  const files = new Set([suite]);
  for (const file of files)
    for (const [, to = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)) {
      const path = to.startsWith('#') ? to.slice(1) : relative(ROOT, join(ROOT, dirname(file), to));
      if (path.startsWith('test/') && existsSync(join(ROOT, path))) files.add(path);
    }
  return [...files];
}

describe.each(Object.entries(SUITES_BY_PATH))('%s', (suite, covered) => {
  test('covers paths that exist', () => {
    expect([suite, ...covered].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('runs when it or its support changes', () => {
    expect(supportOf(suite).filter((file) => suitesLeftOut([file]).includes(suite))).toEqual([]);
  });
});

test('names suites that exist to run last', () => {
  expect(LAST_SUITES.flat().filter((suite) => !existsSync(join(ROOT, suite)))).toEqual([]);
});

test('leaves out all of the table for a page of documentation, and none for the guest', () => {
  expect(suitesLeftOut(['docs/guides/deploy.md'])).toEqual(Object.keys(SUITES_BY_PATH));
  expect(suitesLeftOut(['docs/guides/deploy.md', 'guest/dial.ts'])).toEqual([]);
});

test('runs what covers a changed file alone', () => {
  const left = suitesLeftOut(['examples/podman/main.ts']);
  expect(Object.keys(SUITES_BY_PATH).filter((suite) => !left.includes(suite))).toEqual([
    'test/examples/podman-provider.test.ts',
  ]);
});

describe('the paths changed since a commit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-changed-'));
  const git = (...argv: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.test', ...argv], {
      cwd: folder,
      encoding: 'utf8',
    }).trim();
  const commit = (file: string) => {
    writeFileSync(join(folder, file), file);
    git('add', '.');
    git('commit', '--quiet', '--message', file);
    return git('rev-parse', 'HEAD');
  };

  test('are those of later commits and of the work tree, with both names of a moved file', () => {
    git('init', '--quiet');
    const first = commit('first');
    git('mv', 'first', 'moved');
    commit('second');
    writeFileSync(join(folder, 'new'), 'new');
    expect(changedSince(first, folder)?.toSorted()).toEqual(['first', 'moved', 'new', 'second']);
  });

  test('are unknown for a commit that is unknown or no ancestor', () => {
    const newest = git('rev-parse', 'HEAD');
    git('checkout', '--quiet', 'HEAD~1', '--force');
    expect(changedSince(newest, folder)).toBeUndefined();
    expect(changedSince('0'.repeat(40), folder)).toBeUndefined();
    rmSync(folder, { recursive: true });
  });
});
