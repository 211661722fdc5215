import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/index.ts';
import { SyncMemory, syncFolder } from '../../client/node/index.ts';
import type { Sandbox } from '../../client/resources/sandbox.ts';

describe('a folder that is synced', () => {
  let host: TestHost;
  let porthole: Porthole;
  let sandbox: Sandbox;
  let place: string;
  let folder: string;
  let memory: SyncMemory;
  let losesAnswers = false;
  /** Requests to the API since the list was last emptied. */
  const asked: string[] = [];

  beforeAll(async () => {
    host = await startTestHost();
    const fetch: typeof globalThis.fetch = (input, init) => {
      asked.push(new URL(input instanceof Request ? input.url : input).pathname.split('/').at(-1) ?? '');
      return globalThis.fetch(input, init).then((response) => {
        if (!losesAnswers) return response;
        throw new TypeError('fetch failed');
      });
    };
    porthole = new Porthole({ url: `http://127.0.0.1:${host.host.port}`, fetch });
  });
  afterAll(() => host.end());
  beforeEach(async () => {
    sandbox = await porthole.sandboxes.create({ onExit: 'delete' });
    place = await mkdtemp(join(tmpdir(), 'porthole-sync-'));
    folder = join(place, 'folder');
    await mkdir(folder);
    memory = new SyncMemory(join(place, 'memory'));
  });
  afterEach(async () => {
    await sandbox.close();
    await rm(place, { recursive: true });
  });

  const sync = async (options: Parameters<typeof syncFolder>[2] = {}) => {
    asked.length = 0;
    return syncFolder(sandbox, folder, { memory, ...options });
  };
  const write = async (path: string, text: string) => {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  /** The contents of the sandbox, one line each: type, mode, path, content or target. */
  const there = async (path = '.') => {
    const script = `cd /workspace && find "$1" -mindepth 1 -not -path ./outputs | LC_ALL=C sort | while read -r each; do
      if [ -L "$each" ]; then echo "link $each $(readlink "$each")"
      elif [ -d "$each" ]; then echo "folder $each"
      else echo "file $(stat -c %a "$each") $each $(cat "$each")"; fi
    done`;
    return (await sandbox.exec(['sh', '-c', script, 'sh', path]).text()).trim().split('\n');
  };

  test('is sent once in full with 5,000 files, and then in one round trip when one of them has changed', async () => {
    for (let index = 0; index < 5_000; index += 1)
      await write(`d${index % 50}/f${index}`, `content ${index}`);
    const first = await sync();
    expect(first).toMatchObject({ sent: 5_000, unchanged: 0, removed: 0, skipped: [] });
    expect(asked.filter((path) => path !== sandbox.id)).toEqual(['hydrate']);
    const count = await sandbox.exec(['sh', '-c', 'find . -type f | wc -l; cat d7/f4957']).text();
    expect(count).toBe('5000\ncontent 4957');

    await write('d7/f4957', 'changed');
    const second = await sync();
    expect(second).toMatchObject({ sent: 1, unchanged: 4_999, removed: 0, bytes: 2_048, skipped: [] });
    expect(asked).toEqual(['hydrate']);
    expect(await sandbox.files.text('d7/f4957')).toBe('changed');

    expect(await sync()).toMatchObject({ sent: 0, unchanged: 5_000, bytes: 0 });
    expect(asked).toEqual([]);
  }, 120_000);

  test('arrives with its links, modes and empty folders', async () => {
    await write('run.sh', 'x');
    await chmod(join(folder, 'run.sh'), 0o755);
    await write('a/b', 'y');
    await chmod(join(folder, 'a/b'), 0o644);
    await mkdir(join(folder, 'empty'));
    await symlink('../run.sh', join(folder, 'a/link'));
    await symlink('/etc/passwd', join(folder, 'outside'));
    await symlink('b/../../../x', join(folder, 'a/devious'));
    const { skipped } = await sync({ to: 'below' });
    expect(skipped.map(({ path }) => path).toSorted()).toEqual(['a/devious', 'outside']);
    expect(await there('below')).toEqual([
      'folder below/a',
      'file 644 below/a/b y',
      'link below/a/link ../run.sh',
      'folder below/empty',
      'file 755 below/run.sh x',
    ]);
  });

  test('dates folders as they are dated here', async () => {
    await write('full/a', 'a');
    await mkdir(join(folder, 'empty'));
    for (const name of ['full', 'empty']) await utimes(join(folder, name), 1_700_000_000, 1_700_000_000);
    await sync();
    const dates = await sandbox.exec(['stat', '-c', '%n %Y', 'empty', 'full']).text();
    expect(dates).toBe('empty 1700000000\nfull 1700000000\n');
  });

  test('loses in the sandbox what it loses here, and nothing that others made', async () => {
    for (const path of ['keep', 'gone', 'all/1', 'all/2', 'shared/mine']) await write(path, path);
    await sync();
    await sandbox.files.write('shared/theirs', 'theirs');
    await sandbox.files.write('own', 'own');
    for (const path of ['gone', 'all', 'shared']) await rm(join(folder, path), { recursive: true });
    await write('keep', 'changed');
    expect(await sync()).toMatchObject({ sent: 1, removed: 6, unchanged: 0 });
    expect(asked.toSorted()).toEqual(['exec', 'hydrate']);
    expect(await there()).toEqual([
      'file 644 ./keep changed',
      'file 644 ./own own',
      'folder ./shared',
      'file 644 ./shared/theirs theirs',
    ]);
  });

  test('may have a file where it had a folder, and a folder where it had a file', async () => {
    await write('a', 'file');
    await write('b/c', 'file');
    await sync();
    await rm(join(folder, 'a'));
    await rm(join(folder, 'b'), { recursive: true });
    await write('a/c', 'now below a folder');
    await write('b', 'now a file');
    await sync();
    expect(await there()).toEqual([
      'folder ./a',
      'file 644 ./a/c now below a folder',
      'file 644 ./b now a file',
    ]);
  });

  test('keeps remote files that are gone locally while configured to', async () => {
    await write('a', 'a');
    await sync();
    await rm(join(folder, 'a'));
    expect(await sync({ delete: false })).toMatchObject({ removed: 0 });
    expect(await there()).toEqual(['file 644 ./a a']);
    expect(await sync()).toMatchObject({ removed: 1 });
    expect(await there()).toEqual(['']);
  });

  test('leaves out .git, what its ignore files name, and configured patterns', async () => {
    await write('.git/config', '');
    await write('.gitignore', 'node_modules/\n*.log\n');
    await write('.portholeignore', '!wanted.log\n');
    for (const path of ['node_modules/x', 'a.log', 'wanted.log', 'secret.env', 'a']) await write(path, '');
    await sync({ excludes: ['*.env', '.portholeignore'] });
    expect(await there()).toEqual([
      'file 644 ./.gitignore node_modules/',
      '*.log',
      'file 644 ./a ',
      'file 644 ./wanted.log',
    ]);
  });

  test('is read again where its time tells nothing: a change of the same length and time is found', async () => {
    await write('a', 'one');
    const time = new Date();
    await utimes(join(folder, 'a'), time, time);
    await sync();
    await write('a', 'two');
    await utimes(join(folder, 'a'), time, time);
    expect(await sync()).toMatchObject({ sent: 1 });
    expect(await sandbox.files.text('a')).toBe('two');
  });

  test('finds a change that keeps the length and an old time', async () => {
    await write('a', 'one');
    await utimes(join(folder, 'a'), 1, 1);
    await sync();
    await write('a', 'two');
    await utimes(join(folder, 'a'), 1, 1);
    expect(await sync()).toMatchObject({ sent: 1 });
    expect(await sandbox.files.text('a')).toBe('two');
  });

  test('is not sent again for a new time alone', async () => {
    await write('a', 'one');
    await sync();
    await utimes(join(folder, 'a'), 1, 1);
    expect(await sync()).toMatchObject({ sent: 0, unchanged: 1 });
  });

  test('goes in full to a sandbox that only has the id of the one it went to', async () => {
    await write('a', 'one');
    await sync();
    await sandbox.delete();
    await sandbox.exec(['true']).collect();
    await sandbox.refresh();
    expect(await sync()).toMatchObject({ sent: 1 });
    expect(await sandbox.files.text('a')).toBe('one');
  });

  test('is sent again after it was cut off, and what is gone by then goes there, too', async () => {
    await write('a', 'a');
    await write('b', 'b');
    await sandbox.refresh();
    losesAnswers = true;
    await expect(sync()).rejects.toMatchObject({ code: 'unreachable' });
    losesAnswers = false;
    expect(await there()).toEqual(['file 644 ./a a', 'file 644 ./b b']);
    await rm(join(folder, 'a'));
    expect(await sync()).toMatchObject({ sent: 1, removed: 1 });
    expect(await there()).toEqual(['file 644 ./b b']);
  });

  test('goes on when a file became a folder while the answer was lost', async () => {
    await write('a', 'a');
    await sync();
    await rm(join(folder, 'a'));
    await write('a/b', 'b');
    losesAnswers = true;
    await expect(sync()).rejects.toMatchObject({ code: 'unreachable' });
    losesAnswers = false;
    await sync();
    expect(await there()).toEqual(['folder ./a', 'file 644 ./a/b b']);
    expect(await sync()).toMatchObject({ sent: 0, removed: 0, unchanged: 1 });
  });

  test('may be larger than an archive', async () => {
    const large = Buffer.alloc(20 * 1024 * 1024, 'x');
    await writeFile(join(folder, 'a'), large);
    await writeFile(join(folder, 'b'), large);
    expect(await sync()).toMatchObject({ sent: 2 });
    expect(asked.filter((path) => path === 'hydrate')).toHaveLength(2);
    expect(await sandbox.exec(['sh', '-c', 'cat a b | wc -c']).text()).toBe(`${large.length * 2}\n`);
  });

  test('sends a file that is larger than an archive in slices', async () => {
    await write('b', '');
    await writeFile(join(folder, "it's large"), Buffer.alloc(40 * 1024 * 1024, 'abc'), { mode: 0o755 });
    expect(await sync()).toMatchObject({ sent: 2 });
    const compare = "stat -c '%a %s' *large && cat *large | md5sum && ls | grep -v outputs";
    const digest = createHash('md5')
      .update(Buffer.alloc(40 * 1024 * 1024, 'abc'))
      .digest('hex');
    expect(await sandbox.exec(['sh', '-c', compare]).text()).toBe(
      `755 ${40 * 1024 * 1024}\n${digest}  -\nb\nit's large\n`,
    );
    expect(await sync()).toMatchObject({ sent: 0, unchanged: 2 });
  });

  test.each(['/etc', '../a', '/workspace/../etc'])('does not go to %s', async (to) => {
    await expect(sync({ to })).rejects.toThrow('to must be /workspace or below it');
  });
});
