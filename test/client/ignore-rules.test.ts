import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from '#test/support/suite.ts';
import { IgnoreRules, isExcluded } from '../../client/node/ignore-rules.ts';
import { readFolder } from '../../client/node/read-folder.ts';
import { type Files, folders, GENERATED, listedByGit, withFolder } from './support/ignore-cases.ts';

/** The files that are sent. */
async function included(folder: string, excludes: readonly string[] = []): Promise<readonly string[]> {
  const rules = await IgnoreRules.read(folder, excludes);
  const { entries } = await readFolder(folder, rules, { entries: new Map(), readAt: 0 });
  return [...entries].flatMap(([path, { type }]) => (type === 'directory' ? [] : [path])).toSorted();
}

describe('the rules of what a sync excludes', () => {
  test.each<readonly [string, Files, readonly string[], readonly string[]]>([
    ['.git, also as a file', { '.git/config': '', 'a/.git': '', a1: '' }, [], ['a1']],
    [
      'nothing by a folder’s rule for a file',
      { '.gitignore': 'build/', build: '' },
      [],
      ['.gitignore', 'build'],
    ],
    [
      'by .portholeignore of the root last',
      { 'a/.gitignore': '*', '.portholeignore': '!a/b\n!.gitignore', 'a/b': '', 'a/c': '' },
      [],
      ['.portholeignore', 'a/.gitignore', 'a/b'],
    ],
    [
      'by no .portholeignore of another folder',
      { 'a/.portholeignore': '*', 'a/b': '' },
      [],
      ['a/.portholeignore', 'a/b'],
    ],
    [
      'by configured lines after all files',
      { '.portholeignore': '!a', a: '', b: '' },
      ['a'],
      ['.portholeignore', 'b'],
    ],
    [
      'nothing in a folder that is included again',
      { '.gitignore': 'a/', '.portholeignore': '!a/', 'a/b/c': '' },
      [],
      ['.gitignore', '.portholeignore', 'a/b/c'],
    ],
    [
      'by a line that begins with a byte order mark',
      { '.gitignore': '\uFEFFa', a: '', b: '' },
      [],
      ['.gitignore', 'b'],
    ],
  ])('exclude %s', async (_, files, excludes, expected) => {
    await withFolder(files, async (folder) => expect(await included(folder, excludes)).toEqual(expected));
  });

  test('follow no link from an ignore file', async () => {
    await withFolder({ lines: 'a', a: '' }, async (folder) => {
      await symlink('lines', join(folder, '.gitignore'));
      expect(await included(folder)).toEqual(['.gitignore', 'a', 'lines']);
    });
  });

  test('do not enter an excluded folder', async () => {
    await withFolder({ '.gitignore': 'a', 'a/.gitignore': '!*', 'a/b': '' }, async (folder) => {
      const rules = await IgnoreRules.read(folder);
      expect(await isExcluded(rules, 'a/b')).toBe(true);
      expect(await isExcluded(rules, 'b/c')).toBe(false);
      await writeFile(join(folder, '.gitignore'), '');
      expect(await included(folder)).toEqual(['.gitignore', 'a/.gitignore', 'a/b']);
    });
  });
});

suite(
  'the rules of what a sync excludes, beside git',
  spawnSync('git', ['--version']).status === 0 ? undefined : 'git is not installed: apt-get install git',
  () => {
    test.each(GENERATED)('exclude what git does in a project of %s', async (_, files) => {
      await withFolder(files, async (folder) => {
        const listed = await listedByGit(folder);
        expect(listed.length).toBeLessThan(Object.keys(files).length);
        expect(await included(folder)).toEqual(listed);
      });
    });

    test('exclude what git does in folders with ignore files at any depth', async () => {
      const property = fc.asyncProperty(folders, (files) =>
        withFolder(files, async (folder) =>
          expect(await included(folder)).toEqual(await listedByGit(folder)),
        ),
      );
      await fc.assert(property, { numRuns: 100, seed: 1 });
    }, 60_000);
  },
);
