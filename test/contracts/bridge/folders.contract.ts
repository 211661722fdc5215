import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, create, put, refusal, run } from './bridge-client.ts';

interface Listed {
  readonly entries: readonly {
    readonly path: string;
    readonly name: string;
    readonly type: string;
    readonly size: number | null;
    readonly mtime: string | null;
    readonly mode: string;
  }[];
  readonly truncated: boolean;
}

/** Whole folders, which the bridge itself does not support. */
export function foldersContract(bridge: UnderTest, hasLimits: boolean): void {
  describe('folders', () => {
    let id = '';
    beforeAll(async () => {
      id = await create(bridge());
    }, 120_000);
    afterAll(() => ask(bridge(), 'DELETE', `/v1/sandbox/${id}`));

    const sh = async (script: string) => {
      const { code, stdout, stderr } = await run(bridge(), id, ['sh', '-c', script]);
      expect([stderr.toString(), code]).toEqual(['', 0]);
      return stdout.toString();
    };
    const list = (query: string) => ask(bridge(), 'GET', `/v1/sandbox/${id}/files${query}`);
    const listed = async (query: string) => {
      const answer = await list(query);
      expect(answer.status).toBe(200);
      return answer.json<Listed>();
    };

    describe('listed', () => {
      test('tell the kind, size, time and mode of each entry', async () => {
        await put(bridge(), id, 'workspace/kinds/file', 'five!');
        await sh(
          'cd kinds; mkdir folder; ln -s file link; ln -s /etc out; mkfifo pipe; chmod 4751 file; chmod 700 folder; ' +
            'touch -d @1700000000 file; touch -d @1700000001 folder pipe; touch -h -d @1700000002 link out; chmod 600 pipe',
        );
        const entry = (name: string, type: string, size: number | null, mtime: string, mode: string) => ({
          path: `/workspace/kinds/${name}`,
          name,
          type,
          size,
          mtime,
          mode,
        });
        const expected = {
          entries: [
            entry('file', 'file', 5, '2023-11-14T22:13:20.000Z', '4751'),
            entry('folder', 'directory', null, '2023-11-14T22:13:21.000Z', '0700'),
            entry('link', 'symlink', null, '2023-11-14T22:13:22.000Z', '0777'),
            entry('out', 'symlink', null, '2023-11-14T22:13:22.000Z', '0777'),
            entry('pipe', 'other', null, '2023-11-14T22:13:21.000Z', '0600'),
          ],
          truncated: false,
        };
        expect(await listed('?path=/workspace/kinds')).toEqual(expected);
        expect(await listed('?path=kinds/')).toEqual(expected);
        expect(await listed('?path=./kinds/../kinds/folder/..')).toEqual(expected);
      });

      test('are the workspace itself by default, and go as deep as they are asked to', async () => {
        await sh('mkdir -p deep/a/b/c/d; echo x > deep/a/b/file');
        const paths = async (query: string) =>
          (await listed(query)).entries
            .map(({ path }) => path)
            .filter((path) => path.startsWith('/workspace/deep'));
        expect(await paths('')).toEqual(['/workspace/deep']);
        expect(await paths('?depth=2')).toEqual(['/workspace/deep', '/workspace/deep/a']);
        expect(await paths('?path=deep&depth=3')).toEqual([
          '/workspace/deep/a',
          '/workspace/deep/a/b',
          '/workspace/deep/a/b/c',
          '/workspace/deep/a/b/file',
        ]);
      });

      test('show names that are made to break them', async () => {
        await sh(
          'mkdir hostile; cd hostile; : > "$(printf "two\\nlines")"; : > "$(printf "\\001\\033[2J")"; : > "a \\"b\\" \\\\ {\\$c}"; : > -rf; : > "$(printf "\\377\\376")"; ' +
            ': > " "; : > "$(printf "x\\n81a4 1 1 forged")"; : > .hidden; : > "%s%n"',
        );
        const { entries } = await listed('?path=hostile');
        expect(entries.map(({ name }) => name)).toEqual([
          '\u0001\u001b[2J',
          ' ',
          '%s%n',
          '-rf',
          '.hidden',
          'a "b" \\ {$c}',
          'two\nlines',
          'x\n81a4 1 1 forged',
          '\ufffd\ufffd',
        ]);
      });

      if (hasLimits) {
        test('come whole with 10,000 files, are cut with more, and say so', async () => {
          await sh('mkdir many; cd many; touch $(seq 10000)');
          const whole = await listed('?path=many');
          expect([whole.entries.length, whole.truncated]).toEqual([10_000, false]);
          expect(whole.entries[0]).toMatchObject({ name: '1', type: 'file', size: 0 });
          await sh('touch many/10001');
          const cut = await listed('?path=many');
          expect([cut.entries.length, cut.truncated]).toEqual([10_000, true]);
          await sh('rm -r many');
        });

        test('are cut at 4 MiB of names, and say so', async () => {
          await sh(
            'n=$(printf "%0250d" 0); mkdir many; cd many; for i in 1 2 3 4 5 6 7 8 9 10; do mkdir $n; cd -P $n; done; touch $(seq 2000)',
          );
          const { entries, truncated } = await listed('?path=many&depth=16');
          expect([entries.length > 1_000, entries.length < 2_000, truncated]).toEqual([true, true, true]);
          await sh('rm -r many');
        });
      }

      test('leave out uploads that are under way', async () => {
        await sh(
          'mkdir -p under/.porthole-0123456789abcdef; touch under/.porthole-0123456789abcdee under/.porthole',
        );
        const { entries } = await listed('?path=under&depth=2');
        expect(entries.map(({ name }) => name)).toEqual(['.porthole']);
        await sh('rm -r under');
      });

      test('are those behind a link, as long as it stays in the workspace', async () => {
        await sh(
          'mkdir -p real/inner; ln -s real shortcut; ln -s / outside; ln -s /etc etc; ln -s nowhere dangling',
        );
        expect((await listed('?path=shortcut')).entries.map(({ path }) => path)).toEqual([
          '/workspace/shortcut/inner',
        ]);
      });

      test.each<[string, string, [number, string, string]]>([
        [
          'is a link to outside',
          'outside',
          [403, 'invalid_request', 'path must resolve to a location within /workspace'],
        ],
        [
          'is behind one',
          'outside/etc',
          [403, 'invalid_request', 'path must resolve to a location within /workspace'],
        ],
        [
          'climbs out',
          '../etc',
          [403, 'invalid_request', 'path must resolve to a location within /workspace'],
        ],
        [
          'is absolute and elsewhere',
          '/etc',
          [403, 'invalid_request', 'path must resolve to a location within /workspace'],
        ],
        [
          'is not there',
          'nowhere',
          [404, 'workspace_read_not_found', 'Folder not found: /workspace/nowhere'],
        ],
        [
          'is a dangling link',
          'dangling',
          [404, 'workspace_read_not_found', 'Folder not found: /workspace/dangling'],
        ],
        [
          'is a file',
          'kinds/file',
          [400, 'invalid_request', '/workspace/kinds/file is no directory: read it as a file.'],
        ],
        ['has a NUL', 'a%00b', [400, 'invalid_request', 'path must not contain a NUL character']],
      ])('refuse a path that %s', async (_what, path, expected) => {
        expect(refusal(await list(`?path=${path}`))).toEqual(expected);
      });

      test.each(['0', '17', '1.5', 'all', ''])('refuse a depth of "%s"', async (depth) => {
        expect(refusal(await list(`?depth=${depth}`)).slice(0, 2)).toEqual([400, 'invalid_request']);
      });
    });

    describe('downloaded', () => {
      let here = '';
      beforeAll(async () => {
        here = mkdtempSync(join(tmpdir(), 'porthole-folder-'));
        await sh(
          'mkdir -p down/sub/empty; cd down; printf contents > sub/file; chmod 755 sub/file; touch -d @1700000000 sub/file; printf "" > none; head -c 300000 /dev/urandom > large; ' +
            'ln -s sub/file link; ln -s /etc/passwd out; ln -s / root; mkfifo pipe; ln large same; : > "a\\\\b"; : > "C:x"; : > "é"; : > "two\nlines"; ' +
            ': > "$(printf "\\377")"; mkdir .porthole-0123456789abcdef',
        );
      });
      afterAll(async () => {
        rmSync(here, { recursive: true, force: true });
        await sh('rm -r down');
      });

      const download = (query: string) => ask(bridge(), 'GET', `/v1/sandbox/${id}/archive${query}`);
      const hash = async (path: string) => (await sh(`sha256sum < ${path}`)).slice(0, 64);
      const localHash = (path: string) => execFileSync('sha256sum', [path]).toString().slice(0, 64);
      /**
       * The content of a zip, read by Python: name, mode, size; and whether each entry's checksum
       * is right.
       */
      const zipEntries = (file: string) => {
        const script =
          'import zipfile, json, sys\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n' +
          'print(json.dumps([[i.filename, oct(i.external_attr >> 16), i.file_size] for i in z.infolist()]))';
        const said = execFileSync('python3', ['-c', script, file], { maxBuffer: 1 << 26 }).toString();
        return (JSON.parse(said) as [string, string, number][]).toSorted(([a], [b]) => (a < b ? -1 : 1));
      };

      test('are a tar of what is below', async () => {
        const answer = await download('?path=down');
        expect([
          answer.status,
          answer.headers['content-type'],
          answer.headers['content-disposition'],
          answer.headers['x-content-type-options'],
        ]).toEqual([
          200,
          'application/x-tar',
          `attachment; filename="down.tar"; filename*=UTF-8''down.tar`,
          'nosniff',
        ]);
        const names = execFileSync('tar', ['-tf', '-', '--quoting-style=literal'], { input: answer.body });
        expect(
          names
            .toString('latin1')
            .split('\n')
            .filter((name) => /sub|link|out|root|pipe/.test(name))
            .sort(),
        ).toEqual(['./link', './out', './pipe', './root', './sub/', './sub/empty/', './sub/file']);
        execFileSync('tar', ['-xf', '-', '-C', here, './sub', './link', './out', './large', './same'], {
          input: answer.body,
        });
        expect([
          readFileSync(join(here, 'sub/file'), 'utf8'),
          (statSync(join(here, 'sub/file')).mode & 0o777).toString(8),
          readlinkSync(join(here, 'link')),
          readlinkSync(join(here, 'out')),
          localHash(join(here, 'large')),
        ]).toEqual(['contents', '755', 'sub/file', '/etc/passwd', await hash('down/large')]);
      });

      test('are a zip of what is below', async () => {
        const answer = await download('?path=/workspace/down&format=zip');
        expect([
          answer.status,
          answer.headers['content-type'],
          answer.headers['content-disposition'],
        ]).toEqual([200, 'application/zip', `attachment; filename="down.zip"; filename*=UTF-8''down.zip`]);
        const file = join(here, 'down.zip');
        writeFileSync(file, answer.body);
        const said = execFileSync('unzip', ['-tqq', file]).toString();
        expect(said).toBe('');
        const entries = zipEntries(file);
        // Not every tar can store a file with two names twice.
        const large = entries.filter(([name]) => name === 'large' || name === 'same');
        expect([1, 2]).toContain(large.length);
        expect(large.every(([, , size]) => size === 300_000)).toBe(true);
        const first = large[0]?.[0] ?? '';
        expect(entries.filter(([name]) => name !== 'large' && name !== 'same')).toEqual([
          ['C_x', '0o100644', 0],
          ['a_b', '0o100644', 0],
          ['link', '0o120777', 8],
          ['none', '0o100644', 0],
          ['out', '0o120777', 11],
          ['root', '0o120777', 1],
          ['sub/', '0o40755', 0],
          ['sub/empty/', '0o40755', 0],
          ['sub/file', '0o100755', 8],
          ['two\nlines', '0o100644', 0],
          ['é', '0o100644', 0],
          ['\ufffd', '0o100644', 0],
        ]);
        execFileSync('unzip', ['-qqo', file, 'sub/file', first, '-d', join(here, 'zip')], {
          stdio: 'ignore',
        });
        expect([
          readFileSync(join(here, 'zip/sub/file'), 'utf8'),
          statSync(join(here, 'zip/sub/file')).mtime.toISOString(),
          localHash(join(here, 'zip', first)),
        ]).toEqual(['contents', '2023-11-14T22:13:20.000Z', await hash('down/large')]);
      });

      test('are the workspace by default, and an empty folder too', async () => {
        const whole = await download('');
        expect(whole.headers['content-disposition']).toBe(
          `attachment; filename="workspace.tar"; filename*=UTF-8''workspace.tar`,
        );
        const empty = await download('?path=down/sub/empty&format=zip');
        const file = join(here, 'empty.zip');
        writeFileSync(file, empty.body);
        expect(zipEntries(file)).toEqual([]);
      });

      test('have a name that ends no header', async () => {
        await sh(`mkdir 'é "x"; y'`);
        const answer = await download(`?path=${encodeURIComponent('é "x"; y')}`);
        expect(answer.headers['content-disposition']).toBe(
          `attachment; filename="_ _x__ y.tar"; filename*=UTF-8''%C3%A9%20%22x%22%3B%20y.tar`,
        );
      });

      test.each(['tar', 'zip'])('go on as a %s behind what may not be read, and name it', async (format) => {
        await sh(
          'mkdir -p closed/shut/in closed/zz; cd closed; echo 1 > shut/in/f; echo 2 > "sécret\n\\x"; printf 3 > zz/last; chmod 0 shut s*',
        );
        const file = join(here, `closed.${format}`);
        const answer = await download(`?path=closed&format=${format}`);
        expect(answer.status).toBe(200);
        writeFileSync(file, answer.body);
        const out = join(here, `closed-${format}`);
        mkdirSync(out);
        if (format === 'tar') execFileSync('tar', ['-xf', file, '-C', out]);
        else execFileSync('unzip', ['-qq', file, '-d', out]);
        expect([readdirSync(out).sort(), readFileSync(join(out, 'zz/last'), 'utf8')]).toEqual([
          ['.porthole-unreadable-files', 'zz'],
          '3',
        ]);
        const note = readFileSync(join(out, '.porthole-unreadable-files'), 'utf8').trim().split('\n');
        expect([note[0], note.slice(1).sort()]).toEqual([
          'Not in this archive, because the user of the sandbox may not read it:',
          ['./shut', './sécret\\n\\\\x'],
        ]);
        await sh('chmod -R u+rwx closed; rm -r closed');
      });

      if (hasLimits) {
        test('come whole with 3,000 files', async () => {
          await sh('mkdir lots; cd lots; for n in $(seq 3000); do echo $n > $n; done');
          const file = join(here, 'lots.zip');
          writeFileSync(file, (await download('?path=lots&format=zip')).body);
          expect(zipEntries(file)).toHaveLength(3_000);
          const names = execFileSync('tar', ['-tf', '-'], { input: (await download('?path=lots')).body });
          expect(names.toString().trim().split('\n')).toHaveLength(3_001);
          await sh('rm -r lots');
        });
      }

      test.each<[string, string, [number, string]]>([
        ['is a link to outside', '?path=outside', [403, 'invalid_request']],
        ['climbs out', '?path=../etc', [403, 'invalid_request']],
        ['is not there', '?path=nowhere', [404, 'workspace_read_not_found']],
        ['is a file', '?path=down/none', [400, 'invalid_request']],
      ])('refuse a path that %s', async (_what, query, expected) => {
        await sh('ln -sfn / outside');
        expect(refusal(await download(query)).slice(0, 2)).toEqual(expected);
        expect(refusal(await download(`${query}&format=zip`)).slice(0, 2)).toEqual(expected);
      });

      test('refuse a format that is none', async () => {
        expect(refusal(await download('?format=rar')).slice(0, 2)).toEqual([400, 'invalid_request']);
      });
    });

    describe('uploaded', () => {
      const upload = async (files: readonly (readonly [string, string | Buffer])[], query = '') => {
        const form = new FormData();
        for (const [name, contents] of files) form.append('files', new Blob([contents]), name);
        const sent = new Response(form);
        return ask(bridge(), 'POST', `/v1/sandbox/${id}/files${query}`, {
          body: Buffer.from(await sent.arrayBuffer()),
          headers: { 'content-type': sent.headers.get('content-type') ?? '' },
        });
      };
      const leftovers = () => sh('find . -name ".porthole-*"');

      test('are where their names say, whole', async () => {
        const large = randomBytes(3_500_000);
        const exact = randomBytes(2 * 1_048_576);
        const long = `${'long'.repeat(30)}/${'name'.repeat(30)}`;
        const answer = await upload(
          [
            ['a.txt', 'a'],
            ['dir/sub/large', large],
            ['empty', ''],
            ['dir/exact', exact],
            ['é "quoted"\nname', 'é'],
            [long, 'l'],
            ['-rf', 'dash'],
          ],
          '?path=up/here',
        );
        expect([answer.status, answer.json()]).toEqual([
          200,
          {
            files: [
              { path: '/workspace/up/here/a.txt', size: 1 },
              { path: '/workspace/up/here/dir/sub/large', size: 3_500_000 },
              { path: '/workspace/up/here/empty', size: 0 },
              { path: '/workspace/up/here/dir/exact', size: 2_097_152 },
              { path: '/workspace/up/here/é "quoted"\nname', size: 2 },
              { path: `/workspace/up/here/${long}`, size: 1 },
              { path: '/workspace/up/here/-rf', size: 4 },
            ],
          },
        ]);
        const sums = await sh(
          `cd up/here; sha256sum < dir/sub/large; sha256sum < dir/exact; cat a.txt ./-rf ${long}; stat -c "%a %s %h" empty dir/sub/large`,
        );
        const sum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
        expect(sums).toBe(`${sum(large)}  -\n${sum(exact)}  -\nadashl644 0 1\n644 3500000 1\n`);
        expect(await leftovers()).toBe('');
      });

      test('go to the workspace by default, and replace what is there', async () => {
        expect((await upload([['again.txt', 'first, and longer']])).status).toBe(200);
        expect((await upload([['again.txt', 'second']])).status).toBe(200);
        expect(await sh('cat again.txt')).toBe('second');
      });

      test.each<[string, [string, string | Buffer][], [number, string]]>([
        ['climbs out', [['../up.txt', 'x']], [403, 'invalid_request']],
        ['climbs out of the folder alone', [['a/../../up.txt', 'x']], [403, 'invalid_request']],
        ['is absolute', [['/etc/passwd', 'x']], [403, 'invalid_request']],
        ['is behind a link to outside', [['away/x', 'x']], [403, 'invalid_request']],
        ['has a NUL', [['a\0b', 'x']], [400, 'invalid_request']],
        ['is empty', [['', 'x']], [400, 'invalid_request']],
        ['is a folder by its slash', [['a/', 'x']], [400, 'invalid_request']],
        ['is a folder by its dots', [['a/..', 'x']], [400, 'invalid_request']],
        ['is a folder that is there', [['taken', 'x']], [400, 'invalid_request']],
        ['lies in a file that is there', [['kept.txt/x', 'x']], [400, 'invalid_request']],
        [
          'comes twice',
          [
            ['one', 'x'],
            ['./one', 'y'],
          ],
          [400, 'invalid_request'],
        ],
        [
          'is a file and a folder',
          [
            ['one', 'x'],
            ['one/two', 'y'],
          ],
          [400, 'invalid_request'],
        ],
        ['has a part of 256 bytes', [['n'.repeat(256), 'x']], [400, 'invalid_request']],
      ])('leave nothing where a name %s', async (_what, files, expected) => {
        await sh('mkdir -p hold/taken; echo kept >hold/kept.txt; ln -sfn /tmp hold/away');
        const before = await sh('find hold; ls -A /tmp');
        const answer = await upload([['first.txt', 'good'], ...files], '?path=hold');
        expect(refusal(answer).slice(0, 2)).toEqual(expected);
        expect(await sh('find hold; ls -A /tmp')).toBe(before);
        expect(await leftovers()).toBe('');
      });

      if (hasLimits) {
        test('may be 1,000', async () => {
          const files = Array.from({ length: 1_000 }, (_, at) => [`f/${at}`, String(at)] as const);
          expect((await upload(files, '?path=thousand')).json<{ files: unknown[] }>().files).toHaveLength(
            1_000,
          );
          expect(await sh('ls thousand/f | wc -l; cat thousand/f/999; rm -r thousand')).toBe('1000\n999');
        });

        test('are at most 1,000, and at least one', async () => {
          const many = Array.from({ length: 1_001 }, (_, at) => [`m${at}`, ''] as const);
          expect(refusal(await upload(many)).slice(0, 2)).toEqual([413, 'payload_too_large']);
          expect(refusal(await upload([])).slice(0, 2)).toEqual([400, 'invalid_request']);
          expect(await sh('ls | grep -c "^m" || :')).toBe('0\n');
        });
      }

      test('come with filenames, in a form', async () => {
        const post = (body: string, type: string) =>
          ask(bridge(), 'POST', `/v1/sandbox/${id}/files`, { body, headers: { 'content-type': type } });
        const field = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n--x--\r\n';
        expect(refusal(await post(field, 'multipart/form-data; boundary=x'))).toEqual([
          400,
          'invalid_request',
          'The part "a" has no filename: only files are taken.',
        ]);
        expect(refusal(await post('{}', 'application/json')).slice(0, 2)).toEqual([
          415,
          'unsupported_media_type',
        ]);
        const cut = '--x\r\nContent-Disposition: form-data; name="a"; filename="cut"\r\n\r\nbegins';
        expect(refusal(await post(cut, 'multipart/form-data; boundary=x')).slice(0, 2)).toEqual([
          400,
          'invalid_request',
        ]);
        expect(await sh('ls | grep -c "^cut" || :')).toBe('0\n');
      });
    });
  });
}
