/** File operations of the guest, with their results checked in an ordinary folder. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deleteFile, makeFolder, moveFile } from '#guest/files/change-files.ts';
import { listFiles, statFile } from '#guest/files/list-files.ts';
import { searchFiles } from '#guest/files/search-files.ts';
import { openFile, readPieces } from '#guest/files/read-file.ts';
import { uploadFiles } from '#guest/files/unpack.ts';
import { Workspace } from '#guest/files/workspace.ts';
import { writeFile } from '#guest/files/write-file.ts';
import { UPLOAD } from '#protocol/guest/files-protocol.ts';
import { codeOf, cut, frame, from, look } from '../support/files.ts';

const base = fs.mkdtempSync(join(tmpdir(), 'porthole-guest-files-'));
const root = join(base, 'workspace');
const here = (path: string) => join(root, path);
let workspace: Workspace;
beforeEach(() => {
  fs.rmSync(root, { recursive: true, force: true });
  fs.mkdirSync(root);
  workspace = new Workspace(root);
});
afterAll(() => fs.rmSync(base, { recursive: true, force: true }));

describe('one file', () => {
  test('is read from any byte to any other, and keeps its version while it is unchanged', async () => {
    const bytes = randomBytes(400_000);
    await writeFile(workspace, 'a/b/file', from(bytes.subarray(0, 100_000), bytes.subarray(100_000)));
    const read = async (begin: number, end: number) => {
      const file = await openFile(workspace, '/workspace/a/b/file');
      const pieces: Buffer[] = [];
      for await (const piece of readPieces(file, begin, end)) pieces.push(piece);
      return [file.version, Buffer.concat(pieces).equals(bytes.subarray(begin, end))];
    };
    const [version] = await read(0, 400_000);
    expect([await read(399_999, 400_000), await read(5, 200_000)]).toEqual([
      [version, true],
      [version, true],
    ]);
    fs.appendFileSync(here('a/b/file'), 'x');
    expect((await read(0, 10))[0]).not.toBe(version);
  });

  test('keeps its mode, and replaces a file through a link', async () => {
    fs.writeFileSync(here('tool'), 'old', { mode: 0o700 });
    fs.symlinkSync('tool', here('link'));
    await writeFile(workspace, 'link', from('new'));
    expect([fs.statSync(here('tool')).mode & 0o777, look(root)]).toEqual([
      0o700,
      ['link → tool', 'tool = new'],
    ]);
  });

  test('leaves nothing behind when its sender goes, at any byte', async () => {
    fs.writeFileSync(here('kept'), 'kept');
    const bytes = randomBytes(60_000);
    for (let round = 0; round < 40; round += 1) {
      const end = Math.floor(Math.random() * bytes.length);
      expect(await codeOf(writeFile(workspace, 'kept', cut(bytes, end)))).toBe('Error: aborted');
    }
    expect(look(root)).toEqual(['kept = kept']);
  });

  test.each<[string, string, string]>([
    ['none', 'read', 'workspace_read_not_found'],
    ['folder', 'read', 'invalid_request'],
    ['fifo', 'read', 'invalid_request'],
    ['loop', 'read', 'workspace_read_not_found'],
    ['loop', 'write', 'path_outside_workspace'],
    ['folder', 'write', 'invalid_request'],
    ['file/in', 'write', 'invalid_request'],
    ['dangling/in', 'write', 'invalid_request'],
    ['', 'write', 'invalid_request'],
    ['file/in', 'read', 'workspace_read_not_found'],
  ])('that is "%s" fails to %s with %s', async (path, what, code) => {
    fs.mkdirSync(here('folder'));
    fs.writeFileSync(here('file'), 'x');
    fs.symlinkSync('loop', here('loop'));
    fs.symlinkSync('nowhere', here('dangling'));
    execFileSync('mkfifo', [here('fifo')]);
    const before = look(root);
    const work = what === 'read' ? openFile(workspace, path) : writeFile(workspace, path, from('x'));
    expect(await codeOf(work)).toBe(code);
    expect(look(root)).toEqual(before);
  });

  test('is reached through links that stay inside, also by the folders above the workspace', async () => {
    fs.mkdirSync(here('real'));
    fs.writeFileSync(here('real/file'), 'fine');
    for (const [name, target] of [
      ['a', 'real'],
      ['b', '../workspace/a'],
      ['c', `${fs.realpathSync(root)}/b`],
      ['real/d', '../c/../real/file'],
    ] as const)
      fs.symlinkSync(target, here(name));
    for (const path of ['a/file', 'b/file', 'c/file', 'c/d', 'real/d']) {
      expect([path, (await openFile(workspace, path)).size]).toEqual([path, 4]);
    }
  });
});

describe('limits', () => {
  test('let a request reach what is below them, and folders on the way only to go through', async () => {
    fs.mkdirSync(here('src/deep'), { recursive: true });
    fs.mkdirSync(here('other'));
    for (const name of ['src/a', 'other/b', 'src/deep/c']) fs.writeFileSync(here(name), 'x');
    fs.symlinkSync('../other/b', here('src/out'));
    fs.symlinkSync('src', here('way'));
    const limited = workspace.limitedTo(['/workspace/src', '/workspace/new/folder']);
    const tries: [string, () => Promise<unknown>, string][] = [
      ['read', () => openFile(limited, 'src/a'), 'done'],
      ['read deep', () => openFile(limited, 'src/deep/c'), 'done'],
      ['read by a link', () => openFile(limited, 'way/a'), 'done'],
      ['read other', () => openFile(limited, 'other/b'), 'forbidden'],
      ['read out', () => openFile(limited, 'src/out'), 'forbidden'],
      ['write out', () => writeFile(limited, 'src/out', from('x')), 'forbidden'],
      ['write', () => writeFile(limited, 'new/folder/of/mine', from('x')), 'done'],
      ['write beside', () => writeFile(limited, 'new/beside', from('x')), 'forbidden'],
      ['make beside', () => makeFolder(limited, 'beside/it'), 'forbidden'],
      ['list', () => listFiles(limited, '', { depth: 1, most: 10 }).next(), 'forbidden'],
      ['move in', () => moveFile(limited, 'other/b', 'src/b', false), 'forbidden'],
      ['move out', () => moveFile(limited, 'src/a', 'other/a', false), 'forbidden'],
      ['delete', () => deleteFile(limited, 'other', true), 'forbidden'],
    ];
    for (const [what, work, expected] of tries)
      expect([what, await codeOf(work())]).toEqual([what, expected]);
    expect(fs.existsSync(here('beside'))).toBe(false);
    const upload = uploadFiles(limited, '', from(frame(UPLOAD.file, 'other/x'), frame(UPLOAD.end)));
    expect(await codeOf(upload)).toBe('forbidden');
    expect(look(root)).not.toContain('other/x = ');
  });
});

describe('folders', () => {
  test('are listed as deep as asked, cut at the most, without writes under way', async () => {
    fs.mkdirSync(here('a/b/c'), { recursive: true });
    fs.writeFileSync(here('a/file'), 'five!', { mode: 0o640 });
    fs.utimesSync(here('a/file'), 1_700_000_000, 1_700_000_000);
    fs.mkdirSync(here('a/.porthole-0123456789abcdef'));
    const list = async (depth: number, most: number, ...skipped: string[]) => {
      const paths: string[] = [];
      const files = listFiles(workspace, '/workspace', { depth, most, skipped: new Set(skipped) });
      for (let next = await files.next(); ; next = await files.next()) {
        if (next.done === true) return [paths, next.value];
        paths.push(next.value.path);
      }
    };
    expect(await list(1, 10)).toEqual([['/workspace/a'], false]);
    expect(await list(2, 10)).toEqual([['/workspace/a', '/workspace/a/b', '/workspace/a/file'], false]);
    expect(await list(16, 10, 'b')).toEqual([['/workspace/a', '/workspace/a/file'], false]);
    expect(await list(16, 3)).toEqual([['/workspace/a', '/workspace/a/b', '/workspace/a/file'], true]);
    expect(await statFile(workspace, 'a/file')).toEqual({
      path: '/workspace/a/file',
      type: 'file',
      size: 5,
      mtime: 1_700_000_000,
      mode: 0o640,
    });
  });

  test('are searched for a text in any case, but not in data, large files and folders to skip', async () => {
    fs.mkdirSync(here('a/.git'), { recursive: true });
    fs.writeFileSync(here('a/one.ts'), 'const a = 1;\nconst NEEDLE = 2;\n// needle\n');
    fs.writeFileSync(here('a/.git/two'), 'needle');
    fs.writeFileSync(here('a/data'), 'needle\0');
    fs.writeFileSync(here('a/large'), `needle${' '.repeat(1_048_576)}`);
    fs.writeFileSync(here('a/long.js'), `${'x'.repeat(5_000)}needle${'y'.repeat(5_000)}`);
    fs.symlinkSync('one.ts', here('a/link'));
    fs.writeFileSync(here('a/shut'), 'needle', { mode: 0o000 });
    const search = async (most: number) => {
      const found: string[] = [];
      const options = { text: 'Needle', skipped: new Set(['.git']), most };
      const lines = searchFiles(workspace, '/workspace', options, new AbortController().signal);
      for (let next = await lines.next(); ; next = await lines.next()) {
        if (next.done === true) return { found, isCut: next.value };
        const { path, line, text } = next.value;
        expect(text.length).toBeLessThanOrEqual(400);
        if (path !== '/workspace/a/shut') found.push(`${path}:${line}:${text.slice(0, 70)}`);
      }
    };
    expect(await search(10)).toEqual({
      found: [
        `/workspace/a/long.js:1:${'x'.repeat(60)}needleyyyy`,
        '/workspace/a/one.ts:2:const NEEDLE = 2;',
        '/workspace/a/one.ts:3:// needle',
      ],
      isCut: false,
    });
    const { found, isCut } = await search(2);
    expect([found.length, isCut]).toEqual([2, true]);
  });

  test('are searched for by a pattern and a glob', async () => {
    for (const name of ['src/a.ts', 'src/deep/b.ts', 'src/c.js', '.git/d.ts']) {
      fs.mkdirSync(join(root, name, '..'), { recursive: true });
      fs.writeFileSync(here(name), `one\nName: ${name}\n`);
    }
    const search = async (query: object, folder = '/workspace') => {
      const found: string[] = [];
      const options = { skipped: new Set(['.git']), most: 10, ...query };
      for await (const match of searchFiles(workspace, folder, options, new AbortController().signal)) {
        found.push(`${match.path.slice('/workspace/'.length)}:${match.line}:${match.text}`);
      }
      return found.toSorted();
    };
    expect(await search({ pattern: '^name: .*[ab]\\.ts$' })).toEqual([]);
    expect(await search({ pattern: '^name: .*[ab]\\.ts$', ignore_case: true })).toEqual([
      'src/a.ts:2:Name: src/a.ts',
      'src/deep/b.ts:2:Name: src/deep/b.ts',
    ]);
    expect(await search({ glob: '*.{ts,js}' }, '/workspace/src/')).toEqual(['src/a.ts:0:', 'src/c.js:0:']);
    expect(await search({ text: 'NAME', glob: '**/deep/*' })).toEqual([
      'src/deep/b.ts:2:Name: src/deep/b.ts',
    ]);
    await expect(search({ pattern: '(' })).rejects.toThrow(/^pattern: Invalid regular expression/);
    await expect(search({ glob: '{a,b}'.repeat(100) })).rejects.toThrow('glob: it takes too long');
  });

  test('are made, moved and deleted, however deep, and links with them but not their targets', async () => {
    await makeFolder(workspace, 'a/b');
    await makeFolder(workspace, 'a/b');
    fs.writeFileSync(here('a/b/file'), 'x');
    fs.writeFileSync(here('kept'), 'kept');
    fs.symlinkSync('../../kept', here('a/b/link'));
    await moveFile(workspace, 'a/b', 'c/d', false);
    expect(look(root)).toEqual(['a/', 'c/', 'c/d/', 'c/d/file = x', 'c/d/link → ../../kept', 'kept = kept']);
    const deep = 'd/'.repeat(600);
    fs.mkdirSync(here(`c/${deep}`), { recursive: true });
    fs.writeFileSync(here(`c/${deep}end`), 'x');
    fs.chmodSync(here(`c/${deep}`), 0o500);
    expect(await codeOf(deleteFile(workspace, 'c', false))).toBe('invalid_request');
    await deleteFile(workspace, 'c', true);
    expect(look(root)).toEqual(['a/', 'kept = kept']);
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ['a move onto a file', () => moveFile(workspace, 'one', 'two', false), 'file_exists'],
    ['a move onto a folder', () => moveFile(workspace, 'one', 'folder', true), 'file_exists'],
    ['a move of a folder onto a file', () => moveFile(workspace, 'folder', 'two', true), 'file_exists'],
    ['a move into itself', () => moveFile(workspace, 'folder', 'folder/in/it', false), 'invalid_request'],
    ['a move of nothing', () => moveFile(workspace, 'none', 'new', false), 'workspace_read_not_found'],
    ['a move of the workspace', () => moveFile(workspace, '', 'new', false), 'invalid_request'],
    ['a delete of nothing', () => deleteFile(workspace, 'none', true), 'workspace_read_not_found'],
    ['a delete of the workspace', () => deleteFile(workspace, '/workspace', true), 'invalid_request'],
    ['a folder in the place of a file', () => makeFolder(workspace, 'one'), 'invalid_request'],
  ])('refuse %s', async (_what, work, code) => {
    fs.writeFileSync(here('one'), '1');
    fs.writeFileSync(here('two'), '2');
    fs.mkdirSync(here('folder/in'), { recursive: true });
    expect(await codeOf(work())).toBe(code);
    expect(look(root)).toEqual(['folder/', 'folder/in/', 'one = 1', 'two = 2']);
  });
});
