import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execute } from '#test/host/support/commands.ts';
import type { TestHost } from '#test/support/in-process-host.ts';

/** Prints each entry of the workspace with its type, mode, contents or target, and its names. */
const LISTING = `
const fs = require('fs'), { createHash } = require('crypto');
const inodes = new Map();
const walk = (folder) => fs.readdirSync(folder, 'buffer').sort(Buffer.compare).forEach((name) => {
  const path = Buffer.concat([folder, Buffer.from('/'), name]), stat = fs.lstatSync(path);
  const shown = path.toString('latin1').slice('/workspace/'.length);
  if (shown.startsWith('.porthole/servers.json')) return;
  const first = inodes.get(stat.ino) ?? shown;
  inodes.set(stat.ino, first);
  const what = stat.isFile() ? createHash('sha256').update(fs.readFileSync(path)).digest('hex')
    : stat.isSymbolicLink() ? fs.readlinkSync(path, 'latin1') : '';
  const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isFIFO() ? 'fifo' : 'link';
  const same = stat.nlink > 1 && !stat.isDirectory() ? first : '';
  console.log(JSON.stringify([shown, kind, stat.isSymbolicLink() ? 0 : stat.mode & 0o777, what, same,
    stat.isDirectory() || stat.isFIFO() ? 0 : Math.floor(stat.mtimeMs / 1000)]));
  if (stat.isDirectory()) walk(path);
});
walk(Buffer.from('/workspace'));`;

/** Every kind of entry, and names that are hard to write. */
const MAKE = `
set -e
mkdir -p src/deep/er empty "with space" "$(printf 'new\\nline')" "$(printf 'bytes\\377')" long
printf one > src/one.txt; printf two > src/deep/two.txt; printf three > src/deep/er/three.txt
printf 'a b' > 'with space/a b'; printf x > "$(printf 'bytes\\377')/x"; printf n > "$(printf 'new\\nline')/n"
n=$(head -c 120 /dev/zero | tr '\\0' d); mkdir -p "long/$n/$n"; printf long > "long/$n/$n/$n.txt"
head -c 3000000 /dev/urandom > large.bin; : > nothing
printf run > run.sh; chmod 755 run.sh; printf s > shared; chmod 664 shared; printf p > private; chmod 600 private
ln -s src/one.txt link; ln -s /nowhere/at/all dangling; ln -s . loop; ln large.bin twin.bin; ln src/one.txt src/same
mkfifo pipe; touch -d '2001-02-03 04:05:06' src/one.txt`;

/** A file becomes a folder, a folder a file, and more. */
const CHANGE = `
set -e
rm -r src/deep; printf 'now a file' > src/deep; rm run.sh; mkdir run.sh; printf in > run.sh/in
printf more >> shared; chmod 640 private; chmod 700 src; rm link; ln -s private link; rm twin.bin; printf own > twin.bin
dd if=/dev/zero of=large.bin bs=1 count=10 seek=1500000 conv=notrunc 2>/dev/null
mv empty full; printf f > full/f; rm -r long; mkdir -p brand/new; printf b > brand/new/b; rm pipe`;

const SERVER = `require('http').createServer((_, answer) =>
  answer.end(require('fs').readFileSync('page.txt', 'utf8'))).listen(process.env.PORT, '127.0.0.1')`;

/** Writes a number to each of many files in turn, and then the next number, and so on. */
const COUNT = `
const fs = require('fs');
fs.mkdirSync('count');
const files = Array.from({ length: 300 }, (_, n) => fs.openSync('count/' + n, 'w'));
for (let number = 10000000; ; number += 1) for (const file of files) fs.writeSync(file, String(number), 0);`;

/** What the files have in their order, without repetitions. */
const COUNTED = `
const fs = require('fs');
const all = Array.from({ length: 300 }, (_, n) => Number(fs.readFileSync('count/' + n, 'utf8')));
console.log(all.filter((one, n) => one !== all[n - 1]).map((one) => one - all[299]).join());`;

interface Made {
  readonly id: string;
  readonly stored_bytes: number;
  readonly parent: string | null;
  readonly consistent: boolean;
}

/**
 * Checkpoints, restores and forks, whatever keeps the sandboxes.
 * @param part `provider`: only what a provider may do in another way. @default all
 */
export function checkpointsContract(
  open: () => Promise<{ readonly porthole: TestHost; end(): Promise<void> }>,
  part: 'all' | 'provider' = 'all',
): void {
  let porthole: TestHost;
  let end: () => Promise<void> = async () => {};
  let id = '';
  beforeAll(async () => {
    ({ porthole, end } = await open());
    id = await create();
  }, 120_000);
  afterAll(() => end(), 60_000);

  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await porthole.call(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.status === 204 ? (undefined as T) : answer.json<T>();
  };
  const create = async (body: object = {}) => (await ask<{ id: string }>('POST', '/v1/sandbox', body)).id;
  const shell = async (script: string, of = id): Promise<string> => {
    const { exitCode, stdout, stderr } = await execute(porthole, of, ['sh', '-c', script]);
    if (exitCode !== 0) throw new Error(`${script.slice(0, 80)}: ${stderr.toString()}`);
    return stdout.toString();
  };
  const listing = async (of = id): Promise<string[]> => {
    const { stdout } = await execute(porthole, of, ['node', '-e', LISTING]);
    return stdout.toString().trim().split('\n');
  };
  const checkpoints = (of = id) => `/v1/sandbox/${of}/checkpoints`;
  const take = (body: object = {}, of = id) => ask<Made>('POST', checkpoints(of), body);
  const restore = (checkpoint: string, of = id) =>
    ask('POST', `${checkpoints(of)}/${checkpoint}/restore`, {});
  const fork = (checkpoint: string, body: object = {}) =>
    ask<{ sandboxes: { id: string }[]; errors: unknown[] }>(
      'POST',
      `${checkpoints()}/${checkpoint}/fork`,
      body,
    );

  test('gives back every kind of file, there and back again', async () => {
    await shell(MAKE);
    const first = await listing();
    const before = await take({ label: 'before' });
    expect(before).toMatchObject({
      parent: null,
      label: 'before',
      consistent: true,
      left_out: 0,
      memory: false,
    });
    await shell(CHANGE);
    const second = await listing();
    const after = await take();
    expect(after.parent).toBe(before.id);
    const { changes } = await ask<{ changes: { path: string; change: string }[] }>(
      'GET',
      `${checkpoints()}/${after.id}/changes`,
    );
    expect(changes.map(({ path, change }) => `${change} ${path}`)).toEqual(
      expect.arrayContaining(['added brand/new/b', 'changed large.bin', 'removed pipe', 'added src/deep']),
    );
    expect(changes.map(({ path }) => path)).not.toContain('dangling');
    await restore(before.id);
    expect(await listing()).toEqual(first);
    await restore(after.id);
    expect(await listing()).toEqual(second);
    await restore(before.id);
    expect(await listing()).toEqual(first);
    const { sandboxes } = await fork(before.id);
    expect(await listing(sandboxes[0]?.id)).toEqual(first);
  }, 120_000);

  test('is of one moment while a program writes, which goes on', async () => {
    const of = await create();
    const begin = ['sh', '-c', 'node -e "$0" > /dev/null 2>&1 & echo $!', COUNT];
    const writer = (await execute(porthole, of, begin)).stdout.toString().trim();
    await shell('until [ -s count/299 ]; do sleep 0.05; done', of);
    let made = await take({}, of);
    // A busy machine may be too slow to stop it in time.
    for (let left = 3; left > 0 && !made.consistent; left -= 1) made = await take({}, of);
    expect(made.consistent).toBe(true);
    const before = await shell('cat count/0', of);
    await shell(`until [ "$(cat count/0)" != ${before} ]; do sleep 0.01; done; kill ${writer}`, of);
    await restore(made.id, of);
    const { stdout } = await execute(porthole, of, ['node', '-e', COUNTED]);
    expect(['0', '1,0']).toContain(stdout.toString().trim());
  }, 60_000);

  test('starts the servers of a checkpoint in a restore and in forks, and no others', async () => {
    const argv = ['node', '-e', SERVER];
    await shell('printf first > page.txt');
    await ask('PUT', `/v1/sandbox/${id}/servers/page`, { argv, port: 3501, env: { OWN: 'kept' } });
    await ask('PUT', `/v1/sandbox/${id}/servers/off`, { argv: ['sleep', '600'] });
    await ask('POST', `/v1/sandbox/${id}/servers/off/stop`, {});
    const { id: checkpoint } = await take();
    await shell('printf second > page.txt');
    await ask('DELETE', `/v1/sandbox/${id}/servers/page`);
    await ask('PUT', `/v1/sandbox/${id}/servers/later`, { argv: ['sleep', '600'] });
    const { sandboxes } = await fork(checkpoint, { count: 2 });
    await restore(checkpoint);
    const states = async (of: string) =>
      (
        await ask<{ servers: { name: string; state: string }[] }>('GET', `/v1/sandbox/${of}/servers`)
      ).servers.map(({ name, state }) => [name, state === 'stopped']);
    const got = 'fetch("http://127.0.0.1:3501").then((r) => r.text()).then(console.log)';
    for (const of of [id, ...sandboxes.map((one) => one.id)]) {
      expect(await states(of)).toEqual([
        ['off', true],
        ['page', false],
      ]);
      await ask('POST', `/v1/sandbox/${of}/ports/3501/wait`, {});
      expect((await execute(porthole, of, ['node', '-e', got])).stdout.toString()).toBe('first\n');
    }
    await ask('DELETE', `/v1/sandbox/${id}/servers/page`);
  }, 120_000);

  if (part === 'provider') return;

  test('stores what has changed, at most twice', async () => {
    const script = `mkdir -p many; cd many; for d in $(seq 40); do mkdir -p d$d; for f in $(seq 25); do
      head -c 4000 /dev/urandom > d$d/f$f; done; done`;
    await shell(script);
    // Times of files show changes after a tick of the clock.
    await take();
    await shell('sleep 0.1');
    await take();
    const changed = 10 * 4_000;
    await shell('for d in $(seq 10); do head -c 4000 /dev/urandom > many/d$d/f1; done');
    const { stored_bytes } = await take();
    expect(stored_bytes).toBeGreaterThanOrEqual(changed);
    expect(stored_bytes).toBeLessThanOrEqual(2 * changed);
  }, 120_000);

  test('sees a change that leaves the size and the time of a file as they were', async () => {
    await shell('printf aaaa > sly; touch -d "2001-01-01" sly');
    const before = await take();
    await shell('printf bbbb > sly; touch -d "2001-01-01" sly');
    await take();
    await restore(before.id);
    expect(await shell('cat sly')).toBe('aaaa');
  }, 60_000);

  test('forks go their own ways, without variables that are not named', async () => {
    const original = await create({ env: { TOKEN: 'secret', MODE: 'test' }, name: 'the-original' });
    await shell('printf one > note', original);
    const { id: checkpoint } = await take({}, original);
    const { sandboxes, errors } = await ask<Awaited<ReturnType<typeof fork>>>(
      'POST',
      `${checkpoints(original)}/${checkpoint}/fork`,
      { count: 2, variables: ['MODE'] },
    );
    const [one = '', two = ''] = sandboxes.map((each) => each.id);
    expect(errors).toEqual([]);
    expect(new Set([original, one, two]).size).toBe(3);
    expect(await shell('echo "$MODE,$TOKEN"; cat note', one)).toBe('test,\none');
    await shell('printf mine > note', one);
    expect(await shell('cat note', two)).toBe('one');
    expect(await shell('cat note', original)).toBe('one');
    const { id: own, parent, stored_bytes } = await take({}, two);
    expect(parent).toBe(checkpoint);
    expect(stored_bytes).toBeLessThan(1_000);
    // What a fork shares outlives the original.
    await ask('DELETE', `/v1/sandbox/${original}`);
    await shell('rm note', two);
    await restore(own, two);
    expect(await shell('cat note', two)).toBe('one');
  }, 120_000);

  test('compares a sandbox with its fork, and stores nothing', async () => {
    const of = await create();
    const argv = ['sleep', '600'];
    await ask('PUT', `/v1/sandbox/${of}/servers/same`, { argv });
    await ask('PUT', `/v1/sandbox/${of}/servers/gone`, { argv });
    await shell('printf one > kept; printf two > changed; printf three > removed; printf x > touched', of);
    const { id: checkpoint } = await take({}, of);
    const path = `${checkpoints(of)}/${checkpoint}/fork`;
    const [other = ''] = (await ask<Awaited<ReturnType<typeof fork>>>('POST', path, {})).sandboxes.map(
      (each) => each.id,
    );
    await ask('DELETE', `/v1/sandbox/${other}/servers/gone`);
    await shell('printf TWO > changed; rm removed; printf new > added; touch touched', other);
    await shell('head -c 300000 /dev/zero > big', of);
    const found = await ask<{ changes: object[]; servers: object[]; texts: object[] }>(
      'POST',
      `/v1/sandbox/${of}/compare`,
      { with: other, texts: ['changed', 'added', 'big'] },
    );
    expect(found.changes).toEqual([
      { path: 'added', change: 'added', before: null, after: 3 },
      { path: 'big', change: 'removed', before: 300_000, after: null },
      { path: 'changed', change: 'changed', before: 3, after: 3 },
      { path: 'removed', change: 'removed', before: 5, after: null },
    ]);
    expect(found.servers).toEqual([
      { name: 'gone', one: { state: expect.any(String), port: null, argv }, other: null },
    ]);
    const none = { text: null, missing: 'no_file' };
    expect(found.texts).toEqual([
      { path: 'changed', one: { text: 'two', missing: null }, other: { text: 'TWO', missing: null } },
      { path: 'added', one: none, other: { text: 'new', missing: null } },
      { path: 'big', one: { text: null, missing: 'too_large' }, other: none },
    ]);
    const back = await ask<{ total: number }>('POST', `/v1/sandbox/${other}/compare`, { with: of });
    expect(back.total).toBe(4);
    expect((await ask<{ checkpoints: Made[] }>('GET', checkpoints(other))).checkpoints).toEqual([]);
    const unrelated = await create();
    const answer = await porthole.call('POST', `/v1/sandbox/${of}/compare`, { body: { with: unrelated } });
    expect([answer.status, answer.text.includes('does not come from')]).toEqual([400, true]);
  }, 120_000);

  test('is on the timeline of its run, made, restored and forked', async () => {
    const run = await ask<{ run_id: string; sandbox_id: string }>('POST', '/api/runs', {});
    const of = run.sandbox_id;
    const { id: checkpoint } = await take({ label: 'try it' }, of);
    await restore(checkpoint, of);
    const path = `${checkpoints(of)}/${checkpoint}/fork`;
    const { sandboxes } = await ask<Awaited<ReturnType<typeof fork>>>('POST', path, { count: 2 });
    const { events } = await ask<{ events: { type: string; data: Record<string, unknown> }[] }>(
      'GET',
      `/api/runs/${run.run_id}/timeline?limit=100`,
    );
    const found = events.filter(({ type }) => type.startsWith('checkpoint.'));
    const [, before] = found;
    const common = { by: 'person', user: expect.any(String) };
    const same = { checkpoint_id: checkpoint, label: 'try it', ...common };
    const files = expect.any(Number);
    const made = { ...common, checkpoint_id: before?.data['checkpoint_id'], label: null, files };
    expect(found.slice(0, 3)).toMatchObject([
      { type: 'checkpoint.created', data: { ...same, cause: 'manual', files } },
      { type: 'checkpoint.created', data: { ...made, cause: 'restore' } },
      { type: 'checkpoint.restored', data: { ...same, before: made.checkpoint_id, removed: 0 } },
    ]);
    const forks = found.slice(3).map(({ type, data }) => `${type} ${String(data['sandbox_id'])}`);
    expect(forks.toSorted()).toEqual(sandboxes.map((one) => `checkpoint.forked ${one.id}`).toSorted());
  }, 120_000);

  test('refuses what it does not have', async () => {
    const other = await create();
    const { id: foreign } = await take({}, other);
    const call = (method: string, path: string, body?: unknown) => porthole.call(method, path, { body });
    const unknown = [
      ['GET', `${checkpoints()}/ckp_none`],
      ['POST', `${checkpoints()}/${foreign}/restore`],
      ['POST', `${checkpoints()}/${foreign}/fork`],
    ] as const;
    for (const [method, path] of unknown) {
      const answer = await call(method, path, method === 'POST' ? {} : undefined);
      expect([answer.status, answer.json<{ code: string }>().code]).toEqual([404, 'checkpoint_not_found']);
    }
    const bad = [
      [checkpoints(), { label: '' }, 'label'],
      [checkpoints(), { labels: 'x' }, 'labels'],
      [`${checkpoints(other)}/${foreign}/fork`, { count: 21 }, 'count'],
      [`${checkpoints(other)}/${foreign}/fork`, { variables: ['NONE'] }, 'variables'],
    ] as const;
    for (const [path, body, field] of bad) {
      const answer = await call('POST', path, body);
      expect([answer.status, answer.text.includes(field)]).toEqual([400, true]);
    }
    const memory = await call('POST', checkpoints(), { memory: true });
    expect([memory.status, memory.json<{ code: string }>().code]).toEqual([501, 'memory_not_supported']);
  }, 60_000);

  test('deletes one, and keeps what others share with it', async () => {
    const of = await create();
    await shell('printf one > a; printf two > b', of);
    const { id: first } = await take({}, of);
    await shell('printf three > b', of);
    const { id: second } = await take({}, of);
    await ask('DELETE', `${checkpoints(of)}/${first}`);
    await shell('rm a b', of);
    await restore(second, of);
    expect(await shell('cat a b', of)).toBe('onethree');
    const { checkpoints: left } = await ask<{ checkpoints: Made[] }>('GET', checkpoints(of));
    expect(left.map((one) => one.id)).not.toContain(first);
  }, 60_000);
}
