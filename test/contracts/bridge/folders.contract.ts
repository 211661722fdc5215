import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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

/** Whole folders: what the bridge itself does not have. */
export function foldersContract(bridge: UnderTest): void {
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

      test('name what is named to break them', async () => {
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

      test('of 10,000 files come whole, of more cut, and it is said so', async () => {
        await sh('mkdir many; cd many; seq 10000 | xargs touch');
        const whole = await listed('?path=many');
        expect([whole.entries.length, whole.truncated]).toEqual([10_000, false]);
        expect(whole.entries[0]).toMatchObject({ name: '1', type: 'file', size: 0 });
        await sh('touch many/10001');
        const cut = await listed('?path=many');
        expect([cut.entries.length, cut.truncated]).toEqual([10_000, true]);
        await sh('rm -r many');
      });

      test('of 4 MiB of names are cut, and it is said so', async () => {
        await sh(
          'n=$(printf "%0250d" 0); mkdir many; cd many; for i in 1 2 3 4 5 6 7 8 9 10; do mkdir $n; cd -P $n; done; seq 2000 | xargs touch',
        );
        const { entries, truncated } = await listed('?path=many&depth=16');
        expect([entries.length > 1_000, entries.length < 2_000, truncated]).toEqual([true, true, true]);
        await sh('rm -r many');
      });

      test('leave out uploads that are under way', async () => {
        await sh(
          'mkdir -p under/.porthole-0123456789abcdef; touch under/.porthole-0123456789abcdee under/.porthole',
        );
        const { entries } = await listed('?path=under&depth=2');
        expect(entries.map(({ name }) => name)).toEqual(['.porthole']);
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
          'etc/ssl',
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
  });
}
