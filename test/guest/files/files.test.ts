/** File operations of the guest, with their results checked in an ordinary folder. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { PortholeError } from '#core/errors.ts';
import { deleteFile, makeFolder, moveFile } from '#guest/files/change-files.ts';
import { listFiles, statFile } from '#guest/files/list-files.ts';
import { searchFiles } from '#guest/files/search-files.ts';
import { openFile, readPieces } from '#guest/files/read-file.ts';
import { tarOut } from '#guest/files/tar-out.ts';
import { unpackTar, uploadFiles } from '#guest/files/unpack.ts';
import { Workspace } from '#guest/files/workspace.ts';
import { writeFile } from '#guest/files/write-file.ts';
import { MAX_UPLOAD_FRAME, UPLOAD } from '#guest/protocol/files-protocol.ts';
import { entry, tar } from '#test/hostile/support/tar-builder.ts';

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

async function* from(...chunks: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk as string);
}

/** The bytes in pieces of random size, up to `end`; then the sender disconnects. */
async function* cut(bytes: Buffer, end: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < end; ) {
    const next = Math.min(end, at + 1 + Math.floor(Math.random() * 5_000));
    yield bytes.subarray(at, next);
    at = next;
  }
  throw new Error('aborted');
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof PortholeError ? error.code : String(error)),
  );

function frame(type: number, payload: string | Buffer = ''): Buffer {
  const bytes = Buffer.from(payload as string);
  const head = Buffer.alloc(5);
  head[0] = type;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Paths (bytes as Latin-1) with the kind of each, and the content of files. */
function look(folder = root, above = ''): string[] {
  const names = fs.readdirSync(Buffer.from(folder, 'latin1'), { encoding: 'latin1' }).sort();
  return names.flatMap((name) => {
    const path = Buffer.from(`${folder}/${name}`, 'latin1');
    const stat = fs.lstatSync(path);
    if (stat.isDirectory()) return [`${above}${name}/`, ...look(`${folder}/${name}`, `${above}${name}/`)];
    if (stat.isSymbolicLink()) return [`${above}${name} → ${fs.readlinkSync(path)}`];
    return [
      stat.isFile()
        ? `${above}${name} = ${fs.readFileSync(path, 'latin1').slice(0, 40)}`
        : `${above}${name}?`,
    ];
  });
}

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

  test('keeps that it can be executed, and replaces a file through a link', async () => {
    fs.writeFileSync(here('tool'), 'old', { mode: 0o700 });
    fs.symlinkSync('tool', here('link'));
    await writeFile(workspace, 'link', from('new'));
    expect([fs.statSync(here('tool')).mode & 0o777, look()]).toEqual([0o755, ['link → tool', 'tool = new']]);
  });

  test('leaves nothing behind when its sender goes, at any byte', async () => {
    fs.writeFileSync(here('kept'), 'kept');
    const bytes = randomBytes(60_000);
    for (let round = 0; round < 40; round += 1) {
      const end = Math.floor(Math.random() * bytes.length);
      expect(await codeOf(writeFile(workspace, 'kept', cut(bytes, end)))).toBe('Error: aborted');
    }
    expect(look()).toEqual(['kept = kept']);
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
    const before = look();
    const work = what === 'read' ? openFile(workspace, path) : writeFile(workspace, path, from('x'));
    expect(await codeOf(work)).toBe(code);
    expect(look()).toEqual(before);
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
    expect(look()).not.toContain('other/x = ');
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
    expect(look()).toEqual(['a/', 'c/', 'c/d/', 'c/d/file = x', 'c/d/link → ../../kept', 'kept = kept']);
    const deep = 'd/'.repeat(600);
    fs.mkdirSync(here(`c/${deep}`), { recursive: true });
    fs.writeFileSync(here(`c/${deep}end`), 'x');
    fs.chmodSync(here(`c/${deep}`), 0o500);
    expect(await codeOf(deleteFile(workspace, 'c', false))).toBe('invalid_request');
    await deleteFile(workspace, 'c', true);
    expect(look()).toEqual(['a/', 'kept = kept']);
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
    expect(look()).toEqual(['folder/', 'folder/in/', 'one = 1', 'two = 2']);
  });
});

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
    expect(look(there)).toEqual(look());
    expect(execFileSync('diff', ['-r', '--no-dereference', '--exclude=pipe', root, there]).toString()).toBe(
      '',
    );
    expect(fs.statSync(join(there, 'zz')).nlink).toBe(2);
    const before = look();
    fs.rmSync(root, { recursive: true });
    fs.mkdirSync(root);
    expect((await unpack(bytes)).outside_links).toEqual({
      total: 1,
      links: [{ path: '/workspace/out', target: '/etc/passwd' }],
    });
    expect(look()).toEqual(before);
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
    expect(look()).toEqual([]);
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
    expect(look()).toEqual(['kept = old', 'there/']);
    fs.mkdirSync(here('new'));
    fs.mkdirSync(here('new/f'));
    expect(await codeOf(unpack(bytes))).toBe('workspace_archive_write_error');
    expect(look()).toEqual(['kept = old', 'new/', 'new/f/', 'there/']);
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
    expect(look()).toEqual([
      'file/',
      'file/b = 2',
      'gone/',
      'gone/c = 3',
      'link → real',
      'real/',
      'real/a = 1',
    ]);
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
    expect(look()).toEqual(['pipe?']);
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
    const before = look();
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
      expect(look()).toEqual(before);
    }
  });
});
