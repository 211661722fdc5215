/** The SDK of E2B for JavaScript, as npm has it. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FileNotFoundError, InvalidArgumentError, Sandbox, SandboxNotFoundError, Template } from 'e2b';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

let porthole: TestHost;
let sandbox: Sandbox;
const options = () => ({
  apiKey: ALICE,
  apiUrl: `http://127.0.0.1:${porthole.host.port}/e2b`,
  sandboxUrl: `http://127.0.0.1:${porthole.host.port}/e2b/envd`,
});
beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
  sandbox = await Sandbox.create({
    ...options(),
    timeoutMs: 300_000,
    metadata: { a: 'b' },
    envs: { X: '1' },
  });
}, 60_000);
afterAll(() => porthole?.end());

describe('a command', () => {
  test('has its output, its exit code and the variables of the sandbox', async () => {
    const { stdout, stderr, exitCode } = await sandbox.commands.run('echo "$X $Y"; echo no >&2', {
      envs: { Y: '2' },
    });
    expect({ stdout, stderr, exitCode }).toEqual({ stdout: '1 2\n', stderr: 'no\n', exitCode: 0 });
    await expect(sandbox.commands.run('exit 3')).rejects.toMatchObject({ exitCode: 3 });
  });

  test('starts in the home', async () => {
    expect((await sandbox.commands.run('pwd')).stdout).toBe('/home/user\n');
  });

  test('is ended after its time-out', async () => {
    await expect(sandbox.commands.run('sleep 30', { timeoutMs: 1_000 })).rejects.toThrow(
      /timed? ?out|deadline/i,
    );
  });

  test('runs in the background, is listed, gets input and is killed', async () => {
    const cat = await sandbox.commands.run('cat', { background: true, stdin: true });
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(cat.pid);
    const again = await sandbox.commands.connect(cat.pid);
    await sandbox.commands.sendStdin(cat.pid, 'hello\n');
    await sandbox.commands.closeStdin(cat.pid);
    expect(await again.wait()).toMatchObject({ stdout: 'hello\n', exitCode: 0 });
    const sleep = await sandbox.commands.run('sleep 300', { background: true });
    expect(await sandbox.commands.kill(sleep.pid)).toBe(true);
    // The signal is sent when the call returns, and the process ends after it.
    await expect(sleep.wait()).rejects.toMatchObject({ exitCode: 137 });
    expect(await sandbox.commands.kill(sleep.pid)).toBe(false);
  });

  test('has 10 MB of output, whole', async () => {
    const { stdout } = await sandbox.commands.run('head -c 10000000 /dev/zero | tr "\\0" x');
    expect(stdout.length).toBe(10_000_000);
  }, 60_000);
});

test('a terminal echoes, is resized and ends', async () => {
  let said = '';
  const pty = await sandbox.pty.create({
    cols: 80,
    rows: 24,
    onData: (data) => void (said += Buffer.from(data).toString()),
  });
  await sandbox.pty.resize(pty.pid, { cols: 100, rows: 30 });
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('stty size; exit\n'));
  await pty.wait();
  expect(said).toContain('30 100');
});

describe('files', () => {
  test('are written, read, listed, moved and removed', async () => {
    const { files } = sandbox;
    await files.write([
      { path: 'made/a.txt', data: 'hello' },
      { path: 'made/b.bin', data: new Uint8Array([0, 255]).buffer },
    ]);
    expect(await files.read('made/a.txt')).toBe('hello');
    expect(await files.read('/workspace/made/b.bin', { format: 'bytes' })).toEqual(new Uint8Array([0, 255]));
    expect((await files.list('made')).map(({ name, path, type }) => ({ name, path, type }))).toEqual([
      { name: 'a.txt', path: '/home/user/made/a.txt', type: 'file' },
      { name: 'b.bin', path: '/home/user/made/b.bin', type: 'file' },
    ]);
    expect(await files.getInfo('made/a.txt')).toMatchObject({ size: 5, permissions: '-rw-r--r--' });
    expect([await files.makeDir('made/dir'), await files.makeDir('made/dir')]).toEqual([true, false]);
    await files.rename('made/a.txt', 'made/dir/c.txt');
    expect([await files.exists('made/a.txt'), await files.exists('made/dir/c.txt')]).toEqual([false, true]);
    await files.remove('made');
    await expect(files.read('made/dir/c.txt')).rejects.toThrow(/not found|no such/i);
  });

  test('have metadata', async () => {
    const metadata = { author: 'me' };
    const written = await sandbox.files.write('noted.txt', 'x', { metadata });
    expect([written.metadata, (await sandbox.files.getInfo('noted.txt')).metadata]).toEqual([
      metadata,
      metadata,
    ]);
  });

  test('are watched', async () => {
    await sandbox.files.makeDir('watched');
    const seen = Promise.withResolvers<string>();
    const watching = await sandbox.files.watchDir('watched', ({ name }) => seen.resolve(name));
    await sandbox.files.write('watched/new.txt', 'x');
    expect(await seen.promise).toBe('new.txt');
    await watching.stop();
  });
});

test('templates are those that exist, and are not built', async () => {
  const { apiKey, apiUrl } = options();
  expect(await Template.exists('base', { apiKey, apiUrl })).toBe(true);
  expect(await Template.exists('nothing', { apiKey, apiUrl })).toBe(false);
  const built = Template.build(Template().fromBaseImage(), 'mine', { apiKey, apiUrl });
  await expect(built).rejects.toThrow('Templates cannot be built here');
});

test('a stream that cannot begin says why', async () => {
  const missing = sandbox.files.watchDir('not-there', () => undefined);
  await expect(missing).rejects.toThrow(FileNotFoundError);
  const empty = sandbox.commands.run('true', { cwd: 'x\0y' });
  await expect(empty).rejects.toThrow(InvalidArgumentError);
});

describe('a sandbox', () => {
  test('has metrics, of now', async () => {
    const [now] = await sandbox.getMetrics();
    expect(now?.memUsed).toBeGreaterThan(1_000_000);
    const long = { start: new Date(0), end: new Date(3_600_000) };
    expect(await sandbox.getMetrics(long)).toEqual([]);
  });

  test('is found by its metadata, and described', async () => {
    const found = await Sandbox.list({ ...options(), query: { metadata: { a: 'b' } } }).nextItems();
    expect(found.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
    expect(await Sandbox.list({ ...options(), query: { metadata: { a: 'c' } } }).nextItems()).toEqual([]);
    const { metadata, state, endAt } = await sandbox.getInfo();
    expect({ metadata, state }).toEqual({ metadata: { a: 'b' }, state: 'running' });
    await sandbox.setTimeout(600_000);
    expect((await sandbox.getInfo()).endAt.getTime()).toBeGreaterThan(endAt.getTime());
  });

  test('is paused with its files, and used again', async () => {
    await sandbox.files.write('kept.txt', 'kept');
    await sandbox.pause();
    const [listed] = await Sandbox.list({ ...options(), query: { state: ['paused'] } }).nextItems();
    expect(listed).toMatchObject({ sandboxId: sandbox.sandboxId, state: 'paused' });
    const again = await Sandbox.connect(sandbox.sandboxId, options());
    expect(await again.files.read('kept.txt')).toBe('kept');
    expect(await again.isRunning()).toBe(true);
  }, 60_000);

  test('is killed once', async () => {
    const short = await Sandbox.create(options());
    expect(await short.kill()).toBe(true);
    expect(await short.kill()).toBe(false);
    await expect(Sandbox.connect(short.sandboxId, options())).rejects.toThrow(SandboxNotFoundError);
  });
});
