/** Archives and uploads of the guest, with their results checked in an ordinary folder. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deleteFile } from '#guest/files/change-files.ts';
import { FOLDER } from '#guest/files/descriptors.ts';
import { moveFile } from '#guest/files/at-calls.ts';
import { placeFiles } from '#guest/files/place-files.ts';
import { Stage } from '#guest/files/stage.ts';
import { tarOut } from '#guest/files/tar-out.ts';
import { treeIn, unpackTar, uploadFiles } from '#guest/files/unpack.ts';
import { Workspace } from '#guest/files/workspace.ts';
import { MAX_UPLOAD_FRAME, UPLOAD } from '#protocol/guest/files-protocol.ts';
import { entry, tar } from '#test/hostile/support/tar-builder.ts';
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

async function archive(
  path = '/workspace',
  excludes: string[] = [],
  copiesHardLinks = false,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await tarOut(
    workspace,
    path,
    { excludes, copiesHardLinks },
    async (piece) => void pieces.push(Buffer.from(piece)),
  );
  return Buffer.concat(pieces);
}

const unpack = (bytes: Buffer) => unpackTar(workspace, from(bytes), 'all');

describe('a tar', () => {
  test('comes back as it was: modes, links, times, long and strange names', async () => {
    const long = `${'long-'.repeat(45)}é`;
    execFileSync(
      'sh',
      [
        '-c',
        'mkdir -p sub/empty "$1"; printf x > "sub/a b"; chmod 755 "sub/a b"; ln "sub/a b" zz; ln -s "$1" link; ln -s /etc/passwd out; mkfifo pipe; : > "$(printf "two\\nlines")"; : > "$(printf "\\377")"; head -c 700000 /dev/urandom > large; printf y > "$1/$1"; touch -d @1700000000 "sub/a b" sub',
        'sh',
        long,
      ],
      { cwd: root },
    );
    const bytes = await archive();
    const there = join(base, 'there');
    fs.mkdirSync(there);
    execFileSync('tar', ['-xf', '-', '-C', there], { input: bytes });
    expect(look(there)).toEqual(look(root));
    expect(execFileSync('diff', ['-r', '--no-dereference', '--exclude=pipe', root, there]).toString()).toBe(
      '',
    );
    expect(fs.statSync(join(there, 'zz')).nlink).toBe(2);
    const before = look(root);
    fs.rmSync(root, { recursive: true });
    fs.mkdirSync(root);
    expect((await unpack(bytes)).outside_links).toEqual({
      total: 1,
      links: [{ path: '/workspace/out', target: '/etc/passwd' }],
    });
    expect(look(root)).toEqual(before);
    const { mode, mtimeMs, nlink } = fs.statSync(here('sub/a b'));
    expect([mode & 0o777, mtimeMs, nlink, fs.statSync(here('sub')).mtimeMs]).toEqual([
      0o755, 17e11, 2, 17e11,
    ]);
    fs.rmSync(there, { recursive: true });
  });

  test('leaves out what it is asked to by its very name, and copies hard links where that is asked', async () => {
    execFileSync(
      'sh',
      [
        '-c',
        'mkdir -p a/b c; echo x > a/b/f; echo y > a/g; ln a/g c/h; : > "[a]"; : > .porthole-0123456789abcdef',
      ],
      { cwd: root },
    );
    const names = (bytes: Buffer) => execFileSync('tar', ['-tvf', '-'], { input: bytes }).toString();
    const some = names(await archive('/workspace', ['a/b', './[a]/', '*']));
    expect([...new Set(some.match(/\.\/\S*/g))].sort()).toEqual(['./', './a/', './a/g', './c/', './c/h']);
    expect(some).toContain('link to');
    expect(names(await archive('/workspace', [], true))).not.toContain('link to');
    expect(await codeOf(archive('/workspace', ['../x']))).toBe('invalid_request');
  });

  test('is complete while files in it change', async () => {
    for (let at = 0; at < 400; at += 1) fs.writeFileSync(here(`f${at}`), Buffer.alloc(3_000, at));
    fs.writeFileSync(here('large'), Buffer.alloc(3_000_000));
    const pieces: Buffer[] = [];
    let round = 0;
    await tarOut(workspace, '', { excludes: [], copiesHardLinks: false }, async (piece) => {
      pieces.push(Buffer.from(piece));
      round += 1;
      fs.writeFileSync(here('large'), 'short now');
      for (let at = round; at < 400; at += 7) fs.rmSync(here(`f${at}`), { force: true });
    });
    execFileSync('tar', ['-tf', '-'], { input: Buffer.concat(pieces) });
  });

  test('needs little memory for 4,000 files and for one large file', async () => {
    for (let at = 0; at < 200; at += 1) fs.mkdirSync(here(`d${at}`));
    for (let at = 0; at < 4_000; at += 1) fs.writeFileSync(here(`d${at % 200}/f${at}`), '');
    fs.writeFileSync(here('large'), Buffer.alloc(200_000_000));
    const idle = process.memoryUsage().external;
    let most = 0;
    let bytes = 0;
    await tarOut(workspace, '', { excludes: [], copiesHardLinks: false }, async (piece) => {
      bytes += piece.length;
      most = Math.max(most, process.memoryUsage().external - idle);
    });
    expect([bytes > 202_000_000, most < 4_000_000]).toEqual([true, true]);
  });

  test('is whole with more folders than fit in memory at once, which can all be deleted', async () => {
    for (let at = 0; at < 20_500; at += 1) fs.mkdirSync(here(`many/d${at}`), { recursive: true });
    for (const at of [0, 20_499]) fs.writeFileSync(here(`many/d${at}/f`), '');
    const names = execFileSync('tar', ['-tf', '-'], { input: await archive('/workspace/many') });
    expect(new Set(names.toString().trim().split('\n')).size).toBe(20_503);
    await deleteFile(workspace, 'many', true);
    expect(look(root)).toEqual([]);
  }, 60_000);

  test('leaves nothing when its sender goes at any byte, or when it is refused at its end', async () => {
    fs.writeFileSync(here('kept'), 'old');
    fs.mkdirSync(here('there'));
    const good = [
      { name: 'kept', content: 'new' },
      { name: 'there/in', content: 'x'.repeat(9_000) },
      { name: 'new/f', content: 'y' },
    ];
    const bytes = tar(...good);
    for (let round = 0; round < 40; round += 1) {
      const end = Math.floor(Math.random() * bytes.length);
      expect(await codeOf(unpackTar(workspace, cut(bytes, end), 'all'))).toBe('Error: aborted');
    }
    expect(await codeOf(unpack(tar(...good, { name: '../out' })))).toBe('invalid_request');
    expect(await codeOf(unpack(tar(...good).subarray(0, 9_000)))).toBe('invalid_request');
    expect(await codeOf(unpack(Buffer.alloc(0)))).toBe('invalid_request');
    expect(look(root)).toEqual(['kept = old', 'there/']);
    fs.mkdirSync(here('new'));
    fs.mkdirSync(here('new/f'));
    expect(await codeOf(unpack(bytes))).toBe('workspace_archive_write_error');
    expect(look(root)).toEqual(['kept = old', 'new/', 'new/f/', 'there/']);
  });

  test('of a tree takes the place of what it removes, or changes nothing', async () => {
    const paths = Buffer.from('folder\0file\0not/there\0');
    const good = [
      { name: 'folder', content: 'now a file' },
      { name: 'file/in', content: 'x' },
    ];
    const bytes = Buffer.concat([paths, tar(...good)]);
    const make = () => {
      fs.rmSync(root, { recursive: true });
      fs.mkdirSync(here('folder/deep'), { recursive: true });
      fs.writeFileSync(here('folder/deep/a'), 'a');
      fs.writeFileSync(here('file'), 'b');
    };
    make();
    const before = look(root);
    for (const end of [0, 3, paths.length, paths.length + 700, bytes.length - 1_000]) {
      expect(await codeOf(treeIn(workspace, cut(bytes, end), paths.length))).toBe('Error: aborted');
      expect(look(root)).toEqual(before);
    }
    const outside = Buffer.concat([Buffer.from('../x\0'), tar(...good)]);
    expect(await codeOf(treeIn(workspace, from(outside), 5))).toBe('invalid_request');
    expect(look(root)).toEqual(before);
    await treeIn(workspace, from(bytes), paths.length);
    expect(look(root)).toEqual(['file/', 'file/in = x', 'folder = now a file']);
  });

  test('goes through a link that stays, and replaces a file by a folder', async () => {
    fs.mkdirSync(here('real'));
    fs.symlinkSync('real', here('link'));
    fs.writeFileSync(here('file'), 'x');
    fs.symlinkSync('/nowhere', here('gone'));
    await unpack(
      tar(
        { name: 'link/a', content: '1' },
        { name: 'file/b', content: '2' },
        { name: 'gone/c', content: '3' },
      ),
    );
    expect(look(root)).toEqual([
      'file/',
      'file/b = 2',
      'gone/',
      'gone/c = 3',
      'link → real',
      'real/',
      'real/a = 1',
    ]);
  });

  test('takes the place of an old file at once, with a name of any bytes', () => {
    const [from, into] = ['from', 'into'].map((name) => {
      fs.mkdirSync(here(name));
      return fs.openSync(here(name), fs.constants.O_DIRECTORY);
    }) as [number, number];
    for (const name of ['plain', '\xff old']) {
      const [one, other] = ['from', 'into'].map((folder) =>
        Buffer.concat([Buffer.from(here(`${folder}/`)), Buffer.from(name, 'latin1')]),
      ) as [Buffer, Buffer];
      for (const text of ['old', 'new']) {
        fs.writeFileSync(one, text);
        expect(moveFile(from, name, into, name)).toBe(true);
        expect([fs.existsSync(one), fs.readFileSync(other, 'utf8')]).toEqual([false, text]);
      }
      fs.writeFileSync(one, 'third');
      fs.rmSync(other);
      fs.mkdirSync(other);
      expect(moveFile(from, name, into, name)).toBe(false);
      expect([fs.readFileSync(one, 'utf8'), fs.statSync(other).isDirectory()]).toEqual(['third', true]);
    }
    fs.closeSync(from);
    fs.closeSync(into);
  });

  test('returns a folder that takes the place of a checked file', async () => {
    fs.mkdirSync(here('sub'));
    fs.writeFileSync(here('sub/file'), 'old');
    const directory = fs.openSync(root, FOLDER);
    const stage = new Stage(directory);
    stage.file('sub/file', 0o644);
    stage.endFile();
    // The last call between the check and the first change.
    stage.forgetFolders = () => {
      Stage.prototype.forgetFolders.call(stage);
      fs.rmSync(here('sub/file'));
      fs.mkdirSync(here('sub/file/kept'), { recursive: true });
    };
    const placing = placeFiles(workspace, stage, true);
    await expect(placing).rejects.toThrow('a folder is there already');
    await stage.close();
    fs.closeSync(directory);
    expect(look(root)).toEqual(['sub/', 'sub/file/', 'sub/file/kept/']);
  });

  test('shuts a new folder that comes shut, and leaves the mode of one that is there', async () => {
    fs.mkdirSync(here('there'), { mode: 0o700 });
    await unpack(
      tar(
        { name: 'shut', type: '5', mode: 0o555 },
        { name: 'shut/f', content: 'x' },
        { name: 'there', type: '5', mode: 0o755 },
        { name: 'there/in', type: '5', mode: 0o500 },
        { name: 'suid', mode: 0o6755 },
      ),
    );
    const modes = ['shut', 'there', 'there/in', 'suid'].map((name) => fs.statSync(here(name)).mode & 0o7777);
    expect(modes).toEqual([0o555, 0o700, 0o500, 0o755]);
  });

  test('may have 65,000 FIFOs of one name', async () => {
    const fifo = entry({ name: 'pipe', type: '6' });
    await unpack(tar(...Array.from({ length: 65_000 }, () => fifo)));
    expect(look(root)).toEqual(['pipe?']);
  });
});

describe('an upload', () => {
  const upload = (...frames: readonly Buffer[]) =>
    uploadFiles(workspace, 'up/here', from(Buffer.concat(frames)));

  test('writes all files, in pieces of any size', async () => {
    const large = randomBytes(2 * MAX_UPLOAD_FRAME + 5);
    const bytes = Buffer.concat([
      frame(UPLOAD.file, 'é/a'),
      frame(UPLOAD.contents, 'a'),
      frame(UPLOAD.file, 'large'),
      ...[0, 1, 2].map((at) =>
        frame(UPLOAD.contents, large.subarray(at * MAX_UPLOAD_FRAME, (at + 1) * MAX_UPLOAD_FRAME)),
      ),
      frame(UPLOAD.file, 'empty'),
      frame(UPLOAD.end),
    ]);
    async function* pieces(): AsyncGenerator<Buffer> {
      for (let at = 0; at < bytes.length; ) {
        const next = at + 1 + Math.floor(Math.random() * (at < 100 ? 3 : 50_000));
        yield bytes.subarray(at, next);
        at = next;
      }
    }
    await uploadFiles(workspace, 'up/here', pieces());
    expect(fs.readFileSync(here('up/here/large')).equals(large)).toBe(true);
    expect(fs.readFileSync(here('up/here/é/a'), 'utf8')).toBe('a');
    expect(fs.readFileSync(here('up/here/empty'), 'utf8')).toBe('');
    expect(fs.readdirSync(root)).toEqual(['up']);
  });

  test('writes none of them where one cannot be written, or the end is missing', async () => {
    fs.mkdirSync(here('up/here/taken'), { recursive: true });
    fs.writeFileSync(here('up/here/file'), 'kept');
    const before = look(root);
    const good = [frame(UPLOAD.file, 'good'), frame(UPLOAD.contents, 'x')];
    const end = frame(UPLOAD.end);
    for (const [what, frames] of Object.entries({
      'no end': good,
      'a folder': [...good, frame(UPLOAD.file, 'taken'), end],
      'in a file': [...good, frame(UPLOAD.file, 'file/x'), end],
      'in a file of the upload': [...good, frame(UPLOAD.file, 'good/x'), end],
      'climbs out': [...good, frame(UPLOAD.file, '../../../x'), end],
      'an unknown frame': [...good, frame(9), end],
      'more behind the end': [...good, end, ...good],
      'cut off': [Buffer.concat([...good, end]).subarray(0, -3)],
    })) {
      expect([what, await codeOf(upload(...frames))]).toEqual([what, 'invalid_request']);
      expect(look(root)).toEqual(before);
    }
  });
});
