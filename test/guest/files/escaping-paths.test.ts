/**
 * Paths that lead out of the workspace, for each file operation. The canary outside is neither read
 * nor changed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deleteFile, makeFolder, moveFile } from '#guest/files/change-files.ts';
import { listFiles, statFile } from '#guest/files/list-files.ts';
import { searchFiles } from '#guest/files/search-files.ts';
import { openFile, readPieces } from '#guest/files/read-file.ts';
import { tarOut } from '#guest/files/tar-out.ts';
import { unpackTar, uploadFiles } from '#guest/files/unpack.ts';
import { Workspace } from '#guest/files/workspace.ts';
import { writeFile } from '#guest/files/write-file.ts';
import { UPLOAD } from '#protocol/guest/files-protocol.ts';
import { tar } from '#test/hostile/support/tar-builder.ts';
import { frame, from } from '../support/files.ts';

const CANARY = 'canary-of-the-escaping-paths';

const base = fs.mkdtempSync(join(tmpdir(), 'porthole-escapes-'));
const root = join(base, 'workspace');
const outside = join(base, 'outside');
afterAll(() => fs.rmSync(base, { recursive: true, force: true }));

/** Operations on a path, each returning the text that it read. */
const OPERATIONS: Readonly<Record<string, (workspace: Workspace, path: string) => Promise<string>>> = {
  async read(workspace, path) {
    const file = await openFile(workspace, path);
    let text = '';
    for await (const piece of readPieces(file, 0, file.size)) text += piece.toString('latin1');
    return text;
  },
  write: (workspace, path) => writeFile(workspace, path, from('hostile')).then(() => ''),
  stat: async (workspace, path) => JSON.stringify(await statFile(workspace, path)),
  async list(workspace, path) {
    let text = '';
    for await (const entry of listFiles(workspace, path, { depth: 3, most: 100 })) text += entry.path;
    return text;
  },
  async search(workspace, path) {
    let text = '';
    const options = { text: 'e', skipped: new Set<string>(), most: 100 };
    const { signal } = new AbortController();
    for await (const match of searchFiles(workspace, path, options, signal)) text += match.text;
    return text;
  },
  mkdir: (workspace, path) => makeFolder(workspace, `${path}/made`).then(() => ''),
  'move from': (workspace, path) => moveFile(workspace, path, 'moved', true).then(() => ''),
  'move to': (workspace, path) => moveFile(workspace, 'plain', path, true).then(() => ''),
  delete: (workspace, path) => deleteFile(workspace, path, true).then(() => ''),
  async 'tar out'(workspace, path) {
    let text = '';
    await tarOut(workspace, path, { excludes: [], copiesHardLinks: false }, async (piece) => {
      text += piece.toString('latin1');
    });
    return text;
  },
  upload: (workspace, path) =>
    uploadFiles(
      workspace,
      path,
      from(frame(UPLOAD.file, 'secret'), frame(UPLOAD.contents, 'x'), frame(UPLOAD.end)),
    ).then(() => ''),
  'tar in': (workspace, path) =>
    unpackTar(workspace, from(tar({ name: `${path}/secret`, content: 'hostile' })), 'all').then(() => ''),
};

const READS = ['read', 'stat', 'list', 'tar out'];

/** Names of links that lead out, created again for each operation. */
const TARGETS = [
  outside,
  `${outside}/`,
  `${outside}/secret`,
  '../outside',
  '../outside/secret',
  './../outside/.',
  '..',
  '../..',
  '../../..',
  '/',
  '//',
  '/proc/self/root',
  '/proc/self/cwd',
  '/proc/self/fd',
  '/proc/1/root',
  '/dev/shm',
  `${root}/../outside`,
  `${root}/folder/../../outside`,
  'folder/../../outside',
  'folder/./.././../outside',
  '/dev/fd/0',
  '/nowhere',
];
const TAILS = [
  '',
  '/',
  '/secret',
  '/inner/secret',
  '/.',
  '/../outside/secret',
  `${outside}/secret`,
  '//secret',
  '/./secret',
  '/new/file',
];
const WAYS = ['@', 'folder/up@', 'chain@'];

function makeTree(): void {
  fs.rmSync(root, { recursive: true, force: true });
  fs.mkdirSync(join(root, 'folder'), { recursive: true });
  fs.writeFileSync(join(root, 'plain'), 'plain');
  for (const [index, target] of TARGETS.entries()) {
    fs.symlinkSync(target, join(root, `l${index}`));
    fs.symlinkSync(`../l${index}`, join(root, `folder/upl${index}`));
    fs.symlinkSync(`folder/upl${index}`, join(root, `chainl${index}`));
  }
}

const paths = [
  ...TARGETS.flatMap((_, index) =>
    WAYS.flatMap((way) => TAILS.map((tail) => way.replace('@', `l${index}`) + tail)),
  ),
  '../outside/secret',
  '/etc/passwd',
  'folder/../../outside',
  '/workspace/../x',
  `${outside}/secret`,
  '..',
];

/** Names, sizes, modes and times of everything outside. */
function lookOutside(): string {
  const seen = fs.readdirSync(outside, { recursive: true }) as string[];
  return [...seen.sort(), ...fs.readdirSync(base).sort()]
    .map((name) => {
      const stat = fs.lstatSync(join(outside, name), { throwIfNoEntry: false });
      return `${name} ${stat?.size} ${stat?.mode} ${stat?.mtimeMs}`;
    })
    .join('\n');
}

beforeAll(() => {
  fs.mkdirSync(join(outside, 'inner'), { recursive: true });
  // A name that a listing would reveal as well.
  for (const name of ['secret', 'inner/secret', CANARY]) fs.writeFileSync(join(outside, name), CANARY);
});

describe('a path that leaves the workspace', () => {
  test('is one of more than 500', () => expect(new Set(paths).size).toBeGreaterThan(500));

  test.each(Object.keys(OPERATIONS))('reads and changes nothing outside by %s', async (name) => {
    makeTree();
    const before = lookOutside();
    const workspace = new Workspace(root);
    const limited = workspace.limitedTo(['/workspace/folder']);
    const operation = OPERATIONS[name] as (typeof OPERATIONS)[string];
    const wrong: string[] = [];
    for (const path of paths) {
      for (const view of [workspace, limited]) {
        let isRefused = false;
        const text = await operation(view, path).catch((error: unknown) => {
          isRefused = true;
          return String(error);
        });
        if (text.includes(CANARY)) wrong.push(path);
        // A dangling link may have been replaced, or deleted itself.
        if (!isRefused && !READS.includes(name)) makeTree();
      }
    }
    expect(wrong).toEqual([]);
    expect(lookOutside()).toBe(before);
  });
});

describe('a folder that is swapped for a link meanwhile', () => {
  let swapping: ChildProcess;
  beforeAll(async () => {
    makeTree();
    fs.mkdirSync(join(root, 'dir/inner'), { recursive: true });
    fs.writeFileSync(join(root, 'dir/secret'), 'fine');
    fs.writeFileSync(join(root, 'dir/inner/secret'), 'fine');
    fs.symlinkSync(outside, join(root, 'link'));
    const script = `const fs = require('fs'); process.chdir(process.argv[1]); process.stdout.write('go');
      for (;;) for (let round = 0; round < 100; round += 1) {
        try { fs.renameSync('dir', 'aside'); fs.renameSync('link', 'dir'); fs.renameSync('aside', 'link'); } catch {}
      }`;
    swapping = spawn(process.execPath, ['-e', script, root], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(swapping.stdout as NodeJS.ReadableStream, 'data');
  });
  afterAll(async () => {
    swapping.kill('SIGKILL');
    await once(swapping, 'exit');
  });

  test.each(['read', 'write', 'stat', 'list', 'mkdir', 'upload', 'tar in', 'tar out', 'delete'])(
    'leads no %s outside',
    async (name) => {
      const before = lookOutside();
      const workspace = new Workspace(root);
      const operation = OPERATIONS[name] as (typeof OPERATIONS)[string];
      let text = '';
      const tails = name === 'upload' || name.startsWith('tar') ? [''] : ['/secret', '/inner/new', ''];
      for (let round = 0; round < 200; round += 1) {
        for (const tail of name === 'delete' ? ['/inner/new', '/secret'] : tails) {
          text += await operation(workspace, `dir${tail}`).catch(String);
        }
      }
      expect(text).not.toContain(CANARY);
      expect(lookOutside()).toBe(before);
    },
  );
});
