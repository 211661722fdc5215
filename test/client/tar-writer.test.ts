import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { TarValidator } from '#base/tar/validate-tar.ts';
import { suite } from '#test/support/suite.ts';
import { collect } from '#test/support/collect.ts';
import { TAR_END, tar, type TarEntry, tarSize } from '../../client/archive/tar-writer.ts';
import { existsSync } from 'node:fs';

const run = promisify(execFile);
const hasTar = ['/bin/tar', '/usr/bin/tar'].some((file) => existsSync(file));

/** GNU tar's view of an archive, as lines of type, mode, content or target. */
async function unpack(archive: Uint8Array, folder: string): Promise<Record<string, string>> {
  const file = `${folder}.tar`;
  await writeFile(file, archive);
  await run('mkdir', ['-p', folder]);
  await run('tar', ['-xpf', file, '-C', folder, '--no-same-owner']);
  return list(folder, '');
}

/** Node's own recursion follows links. */
async function list(folder: string, below: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(join(folder, below))) {
    const name = below === '' ? entry : `${below}/${entry}`;
    const path = join(folder, name);
    const stats = await lstat(path);
    const mode = (stats.mode & 0o777).toString(8);
    if (stats.isSymbolicLink()) found[name] = `link ${await readlink(path)}`;
    else if (stats.isDirectory())
      Object.assign(found, { [name]: `folder ${mode}` }, await list(folder, name));
    else
      found[name] =
        `file ${mode} ${Math.floor(stats.mtimeMs / 1000)} ${(await readFile(path)).toString('hex')}`;
  }
  return found;
}

function expected(entries: readonly TarEntry[]): Record<string, string> {
  const made: Record<string, string> = {};
  for (const entry of entries) {
    for (let at = entry.name.indexOf('/'); at !== -1; at = entry.name.indexOf('/', at + 1)) {
      made[entry.name.slice(0, at)] ??= 'folder 755';
    }
    if (entry.type === 'directory') made[entry.name] = 'folder 755';
    else if (entry.type === 'symlink') made[entry.name] = `link ${entry.target}`;
    else {
      const content = Buffer.from(entry.content as Uint8Array).toString('hex');
      made[entry.name] = `file ${(entry.mode ?? 0o644).toString(8)} ${entry.mtime} ${content}`;
    }
  }
  return made;
}

/** A path segment: short, long, with spaces, and with multibyte letters. */
const part = fc.oneof(
  fc.stringMatching(/^[a-z][a-z0-9 _.-]{0,12}$/),
  fc.stringMatching(/^[a-z]{80,120}$/),
  fc.constantFrom('ünïcødé', '文件', '😀', '..hidden', '-rf', '"quoted"', 'back\\slash'),
);
const name = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));
const content = fc.oneof(
  fc.uint8Array({ maxLength: 1_100 }),
  fc.constantFrom(0, 511, 512, 513, 65_535, 65_536, 70_000).map((length) => new Uint8Array(length).fill(7)),
);
const entry: fc.Arbitrary<TarEntry> = fc.oneof(
  {
    arbitrary: fc
      .record({
        type: fc.constant('file'),
        name,
        content,
        mode: fc.constantFrom(0o644, 0o600, 0o755),
        mtime: fc.nat(2_000_000_000),
      })
      .map((file): TarEntry => ({ ...file, type: 'file', size: file.content.length })),
    weight: 4,
  },
  fc
    .record({ type: fc.constant('directory'), name })
    .map((folder): TarEntry => ({ ...folder, type: 'directory' })),
  fc
    .record({ type: fc.constant('symlink'), name, target: name })
    .map((link): TarEntry => ({ ...link, type: 'symlink' })),
);
/** Entries of which none replaces another, or is below one that is not a folder. */
const entries = fc.array(entry, { maxLength: 12 }).map((all) => {
  const taken = new Set<string>();
  return all.filter(({ name: own }) => {
    const clashes = [...taken].some(
      (other) => other === own || own.startsWith(`${other}/`) || other.startsWith(`${own}/`),
    );
    if (!clashes) taken.add(own);
    return !clashes;
  });
});

suite('the tar writer', hasTar ? undefined : 'tar is not installed: apt-get install tar', () => {
  let folder: string;
  let count = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-tar-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('writes what GNU tar unpacks to the same, and what a sandbox takes', async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (all) => {
        const archive = Buffer.concat(await collect(tar(all)));
        expect(archive.length).toBe(all.reduce((sum, each) => sum + tarSize(each), TAR_END));
        count += 1;
        expect(await unpack(archive, join(folder, String(count)))).toEqual(expected(all));
        const validator = new TarValidator();
        // Links that leave the workspace are rejected there for that reason.
        validator.push(Buffer.concat(await collect(tar(all.filter(({ type }) => type !== 'symlink')))));
        validator.end();
      }),
      { numRuns: 60 },
    );
  }, 120_000);

  test('takes a file as it is read', async () => {
    const chunks = async function* () {
      yield Buffer.from('hello ');
      yield Buffer.from('world');
    };
    const archive = Buffer.concat(
      await collect(tar([{ type: 'file', name: 'a', size: 11, content: chunks() }])),
    );
    const found = await unpack(archive, join(folder, 'chunks'));
    expect(found).toEqual({ a: `file 644 0 ${Buffer.from('hello world').toString('hex')}` });
  });

  test.each([
    ['shorter', 6],
    ['longer', 4],
  ])('fails where a file is %s than it should be', async (_, size) => {
    const archive = collect(tar([{ type: 'file', name: 'a', size, content: Buffer.from('hello') }]));
    await expect(archive).rejects.toThrow(`a does not have its ${size} bytes`);
  });

  test.each(['', '/etc/passwd', 'a\0b'])('refuses the name %j', async (bad) => {
    await expect(collect(tar([{ type: 'directory', name: bad }]))).rejects.toThrow(
      "an entry's name must be relative and not empty",
    );
  });
});
