import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, create, get, put, refusal, run } from './bridge-client.ts';

/**
 * The members of an archive, listed by GNU tar, without the folder that some sandboxes begin with.
 */
function members(tar: Buffer): string[] {
  return execFileSync('tar', ['-tf', '-'], { input: tar, maxBuffer: 1 << 26 })
    .toString()
    .trim()
    .split('\n')
    .filter((name) => name !== './outputs/')
    .sort();
}

export function archivesContract(bridge: UnderTest, hasLimits: boolean): void {
  describe('the workspace as an archive', () => {
    let id = '';
    let folder = '';
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'porthole-tar-'));
      id = await create(bridge());
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true, force: true });
      await ask(bridge(), 'DELETE', `/v1/sandbox/${id}`);
    });

    const persist = (sandbox: string, query = '') =>
      ask(bridge(), 'POST', `/v1/sandbox/${sandbox}/persist${query}`);
    const hydrate = (sandbox: string, body: Buffer) =>
      ask(bridge(), 'POST', `/v1/sandbox/${sandbox}/hydrate`, { body });
    const tarOf = (...args: string[]) =>
      execFileSync('tar', ['-cf', '-', ...args], { cwd: folder, maxBuffer: 1 << 26 });

    test('is a plain tar of everything in it', async () => {
      await put(bridge(), id, 'workspace/src/main.py', 'print(1)');
      await run(bridge(), id, [
        'sh',
        '-c',
        'mkdir empty; ln -s src/main.py link; printf x > "a b"; chmod 755 "a b"',
      ]);
      const answer = await persist(id);
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/octet-stream']);
      expect(members(answer.body)).toEqual(['./', './a b', './empty/', './link', './src/', './src/main.py']);
    });

    test('leaves out what it is asked to', async () => {
      const { body } = await persist(id, '?excludes=src,./link,a%20b');
      expect(members(body)).toEqual(['./', './empty/']);
    });

    test('takes an exclude as the very name, not as a pattern', async () => {
      expect(members((await persist(id, '?excludes=*,%5Bs%5Drc')).body)).toContain('./src/main.py');
    });

    test.each(['', '?excludes=empty'])(
      'goes on behind what may not be read, and names it%s',
      async (query) => {
        const sh = (script: string) => run(bridge(), id, ['sh', '-c', script]);
        await sh('mkdir -p shut/in; echo x > zz; echo y > unreadable; chmod 0 shut unreadable');
        const { body } = await persist(id, query);
        expect(members(body)).toEqual(
          expect.arrayContaining(['./', './.porthole-unreadable-files', './src/main.py', './zz']),
        );
        expect(members(body).filter((name) => /shut|unreadable$/.test(name))).toEqual([]);
        const note = execFileSync('tar', ['-xOf', '-', './.porthole-unreadable-files'], { input: body });
        expect(note.toString().trim().split('\n').slice(1).sort()).toEqual(['./shut', './unreadable']);
        await sh('chmod -R u+rwx shut unreadable; rm -r shut unreadable zz');
        expect(members((await persist(id, query)).body)).not.toContain('./.porthole-unreadable-files');
      },
    );

    test('refuses to leave out what is above it', async () => {
      expect(refusal(await persist(id, '?excludes=../etc'))).toEqual([
        400,
        'invalid_request',
        'exclude paths must not contain ".."',
      ]);
    });

    test('comes back in another sandbox, and on a deleted id', async () => {
      const { body } = await persist(id);
      const other = await create(bridge());
      await ask(bridge(), 'DELETE', `/v1/sandbox/${other}`);
      const answer = await hydrate(other, body);
      expect([answer.status, answer.json()]).toEqual([200, { ok: true }]);
      const { stdout } = await run(bridge(), other, [
        'sh',
        '-c',
        'readlink link; cat src/main.py; test -x "a b" && ls --hide=outputs',
      ]);
      expect(stdout.toString()).toBe('src/main.py\nprint(1)a b\nempty\nlink\nsrc\n');
      await ask(bridge(), 'DELETE', `/v1/sandbox/${other}`);
    });

    test('brings back what persist gives, with links to everywhere, and names those that lead out', async () => {
      const made = await create(bridge());
      const make =
        'mkdir sub; ln -s "$HOME/.cache" sub/cache; ln -s /tmp/x tmp; ln -s ../.. sub/up; ln -s sub/file in; ln -s /usr/bin/env program; ln -s nowhere/at/all dangling; ln -s loop loop; readlink sub/cache';
      const { stdout } = await run(bridge(), made, ['sh', '-c', make]);
      const cache = stdout.toString().trim();
      const tar = (await persist(made)).body;
      const look = `find . -type l -printf '%p %l\\n' | sort`;
      const before = (await run(bridge(), made, ['sh', '-c', look])).stdout.toString();
      // Over existing links with the same targets, and into a sandbox without any: neither is
      // followed.
      expect((await hydrate(made, tar)).status).toBe(200);
      await run(bridge(), made, ['sh', '-c', 'rm -rf -- sub * .[!.]*']);
      const answer = await hydrate(made, tar);
      const { outside_links: outside, ...rest } = answer.json<{
        outside_links: { total: number; links: { path: string }[] };
      }>();
      expect([answer.status, rest]).toEqual([200, { ok: true }]);
      expect(outside.total).toBe(3);
      expect(outside.links.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
        { path: '/workspace/sub/cache', target: cache },
        { path: '/workspace/sub/up', target: '../..' },
        { path: '/workspace/tmp', target: '/tmp/x' },
      ]);
      expect((await run(bridge(), made, ['sh', '-c', look])).stdout.toString()).toBe(before);
      expect((await run(bridge(), made, ['ls', '/tmp/x'])).last.data).not.toBe('{"exit_code":0}');
      await ask(bridge(), 'DELETE', `/v1/sandbox/${made}`);
    });

    test('is unpacked over what is there', async () => {
      await put(bridge(), id, 'workspace/stays.txt', 'stays');
      await put(bridge(), id, 'workspace/replaced.txt', 'old');
      writeFileSync(join(folder, 'replaced.txt'), 'new');
      expect((await hydrate(id, tarOf('replaced.txt'))).status).toBe(200);
      expect((await get(bridge(), id, 'workspace/stays.txt')).body.toString()).toBe('stays');
      expect((await get(bridge(), id, 'workspace/replaced.txt')).body.toString()).toBe('new');
    });

    test.each([
      ['GNU', ['--format=gnu']],
      ['pax', ['--format=posix']],
      ['ustar', ['--format=ustar']],
      ['the oldest kind', ['--format=v7']],
    ])('may be of %s', async (format, args) => {
      const name = format === 'GNU' || format === 'pax' ? `${'long-'.repeat(40)}é` : 'short';
      mkdirSync(join(folder, 'formats'), { recursive: true });
      writeFileSync(join(folder, 'formats', name), format);
      expect((await hydrate(id, tarOf(...args, `formats/${name}`))).status).toBe(200);
      expect((await get(bridge(), id, `workspace/formats/${encodeURIComponent(name)}`)).body.toString()).toBe(
        format,
      );
    });

    if (hasLimits) {
      test('leaves something out of a tree that is 1,000 folders deep, within the time of a test', async () => {
        await run(bridge(), id, [
          'bash',
          '-c',
          'path=deep$(printf "/d%.0s" {1..1000}); mkdir -p "$path"; echo x > "$path/end"',
        ]);
        const { body } = await persist(id, '?excludes=src/main.py');
        expect(members(body).filter((name) => name.startsWith('./deep/'))).toHaveLength(1_002);
        expect(members(body)).not.toContain('./src/main.py');
        await run(bridge(), id, ['rm', '-rf', 'deep']);
      });

      test('comes whole with 10,000 files', async () => {
        const many = join(folder, 'many');
        for (let at = 0; at < 100; at += 1) mkdirSync(join(many, String(at)), { recursive: true });
        for (let at = 0; at < 10_000; at += 1)
          writeFileSync(join(many, String(at % 100), `f${at}`), String(at));
        expect((await hydrate(id, tarOf('many'))).status).toBe(200);
        expect(
          (await run(bridge(), id, ['sh', '-c', 'find many -type f | wc -l'])).stdout.toString().trim(),
        ).toBe('10000');
        expect(members((await persist(id)).body).filter((name) => name.startsWith('./many/'))).toHaveLength(
          10_101,
        );
        await run(bridge(), id, ['rm', '-rf', 'many']);
      });
    }

    test('is refused when it is empty', async () => {
      expect(refusal(await hydrate(id, Buffer.alloc(0)))).toEqual([
        400,
        'invalid_request',
        'Empty tar payload',
      ]);
    });

    test('is refused when it is not a tar archive', async () => {
      expect((await hydrate(id, Buffer.from('no tar '.repeat(100)))).status).toBe(400);
      expect((await hydrate(id, tarOf('-z', 'replaced.txt'))).status).toBe(400);
    });

    test('is refused when it leaves the workspace, and nothing of it is unpacked', async () => {
      writeFileSync(join(folder, 'good.txt'), 'good');
      symlinkSync('/etc', join(folder, 'etc-link'));
      mkdirSync(join(folder, 'beyond/etc-link'), { recursive: true });
      writeFileSync(join(folder, 'beyond/etc-link/file'), 'x');
      const hostile: Record<string, Buffer> = {
        absolute: tarOf('-P', 'good.txt', '--transform=s,^good2,/tmp/x,', '--add-file=/etc/hostname'),
        dots: tarOf('-P', 'good.txt', '--transform=s,^replaced.txt,../../tmp/x,', 'replaced.txt'),
        link: tarOf('good.txt', 'etc-link', '-C', 'beyond', 'etc-link/file'),
      };
      for (const [, tar] of Object.entries(hostile)) {
        const answer = await hydrate(id, tar);
        expect([answer.status, answer.json<{ code: string }>().code]).toEqual([400, 'invalid_request']);
        expect((await get(bridge(), id, 'workspace/good.txt')).status).toBe(404);
      }
      expect((await run(bridge(), id, ['sh', '-c', 'ls -A | grep porthole'])).stdout.toString()).toBe('');
    });
  });
}
