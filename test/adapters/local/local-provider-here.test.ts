/** Behavior specific to this machine: long paths, the view, the trial. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalProvider, type LocalProvider } from '#adapters/local/local-provider.ts';
import type { StartRecord } from '#adapters/local/sandbox-folder.ts';
import { sandboxStarter } from '#adapters/local/start-sandbox.ts';
import { portState } from '#protocol/guest/ports-protocol.ts';
import { serverInfo } from '#protocol/guest/servers-protocol.ts';
import { AskingClient } from '#test/guest/support/asking-client.ts';
import { guestProcessesOf } from '#test/guest/support/guest-processes.ts';
import { comesTrue, openFiles, processesWith } from '#test/adapters/local/host-processes.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { bytes, codeOf, run, sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

suite('local provider on this machine', missingFor('bubblewrap'), () => {
  let base: string;
  let dataDir: string;
  const id = sandboxId();
  let provider: LocalProvider & TestProvider;

  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), 'porthole-here-'));
    dataDir = join(base, 'a'.repeat(120));
    const modules = join(base, 'modules');
    mkdirSync(join(modules, 'greeting'), { recursive: true });
    writeFileSync(join(modules, 'greeting', 'index.js'), "module.exports = 'hello';");
    provider = withGuests(createLocalProvider({ dataDir, nodeModules: modules }));
    await provider.create({ id });
  });
  afterAll(async () => {
    await provider.destroy(id);
    await provider.close();
    rmSync(base, { recursive: true });
  });

  test('finds by trying that sandboxes are isolated', async () => {
    expect(await provider.probe()).toEqual({ isolation: 'bubblewrap', warnings: [] });
  });

  test('leaves nothing of trying behind', async () => {
    await provider.probe();
    expect(readdirSync(dataDir).toSorted()).toEqual(['runtime', 'sandboxes']);
  });

  test('starts sandboxes again after the files that they run could not be written', async () => {
    const folder = mkdtempSync(join(base, 'full-'));
    const starter = sandboxStarter(folder, {});
    writeFileSync(join(folder, 'runtime'), '');
    expect(await starter.attempt('bubblewrap')).toMatch(/ENOTDIR|EEXIST/);
    rmSync(join(folder, 'runtime'));
    expect(await starter.attempt('bubblewrap')).toBeUndefined();
  });

  test('works in a folder with a path longer than a socket’s address', async () => {
    expect(dataDir.length).toBeGreaterThan(108);
    expect((await run(provider, id, ['echo', 'hello'])).stdout).toBe('hello\n');
  });

  test('ends a command although what it left in the background never stops writing', async () => {
    const { exit, stdout } = await run(provider, id, ['sh', '-c', 'yes noise & echo $! > pid; echo left']);
    expect(exit).toEqual({ code: 0 });
    expect(stdout).toContain('left\n');
    // Its output is no longer read, and it still is not blocked.
    const busy =
      'p=$(cat pid); a=$(cut -d" " -f14,15 /proc/$p/stat); while [ "$a" = "$(cut -d" " -f14,15 /proc/$p/stat)" ]; do :; done; kill $p';
    expect((await run(provider, id, ['sh', '-c', busy])).exit).toEqual({ code: 0 });
  });

  test('gives each of 140 commands at once real pipes', async () => {
    const all = await Promise.all(
      Array.from({ length: 140 }, () => run(provider, id, ['sh', '-c', 'echo late > /dev/stderr'])),
    );
    expect(new Set(all.map(({ stderr }) => stderr))).toEqual(new Set(['late\n']));
  });

  test('resumes a sandbox afresh that another version of Porthole started', async () => {
    const other = sandboxId();
    await provider.create({ id: other });
    const file = join(dataDir, 'sandboxes', other, 'process.json');
    const { guest, ...earlier } = JSON.parse(readFileSync(file, 'utf8')) as { guest: number };
    expect(guest).toBe(1);
    writeFileSync(file, JSON.stringify(earlier));
    expect(await provider.inspect(other)).toMatchObject({
      state: 'stopped',
      reason: 'another version of Porthole started it',
    });
    expect(await codeOf(provider.exec(other, { argv: ['true'] }))).toBe('sandbox_not_running');
    await provider.resume(other);
    expect((await run(provider, other, ['echo', 'back'])).stdout).toBe('back\n');
    await provider.destroy(other);
  });

  test('connects to the guest, which speaks HTTP', async () => {
    const { stream } = await provider.connect(id, 'GET /v1/health');
    stream.write('GET /v1/health HTTP/1.1\r\nHost: guest\r\nConnection: close\r\n\r\n');
    expect((await bytes(stream)).toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*"protocol":1/s);
  });

  test('keeps processes’ output and declared servers over stop and resume', async () => {
    const other = sandboxId();
    await provider.create({ id: other });
    const guest = new AskingClient({
      sandboxId: other,
      connect: (operation) => provider.connect(other, operation),
    });
    const api = guestProcessesOf(guest);
    const { id: loud } = await api.start({ argv: ['sh', '-c', 'echo kept; exec sleep 1000'] });
    for await (const { event } of guest.events(`/v1/processes/${loud}/output?follow=true`)) {
      if (event === 'stdout') break;
    }
    const script = "require('http').createServer((_, r) => r.end('hi')).listen(process.env.PORT)";
    await guest.json('PUT', '/v1/servers/web', serverInfo, {
      body: { argv: ['node', '-e', script], port: 3000, readiness: { http: '/' } },
    });
    for (let round = 0; round < 3; round += 1) {
      const wait = await guest.json('POST', '/v1/ports/3000/wait', portState, { body: {} });
      expect(wait).toMatchObject({ state: 'listening', listener: { server: 'web', program: 'node' } });
      await provider.stop(other);
      await provider.resume(other);
    }
    expect((await api.get(loud)).exit).toMatchObject({ reason: 'sandbox_stopped' });
    expect((await api.output(loud)).stdout.toString()).toBe('kept\n');
    await provider.destroy(other);
  });

  test('refuses an image', async () => {
    expect(await codeOf(provider.create({ id: sandboxId(), image: 'debian:12' }))).toBe(
      'image_not_supported',
    );
    expect(readdirSync(join(dataDir, 'sandboxes'))).toEqual([id]);
  });

  test('shows the running Node as node', async () => {
    expect((await run(provider, id, ['node', '--version'])).stdout).toBe(`${process.version}\n`);
  });

  test('shows nodeModules as /node_modules, where node finds packages', async () => {
    const { stdout } = await run(provider, id, ['node', '-p', "require('greeting')"]);
    expect(stdout).toBe('hello\n');
  });

  test('builds the environment from nothing', async () => {
    const { stdout } = await run(provider, id, ['env']);
    const names = new Set(
      stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('=')[0]),
    );
    expect(names).toEqual(
      new Set(['HOME', 'LANG', 'PATH', 'PORTHOLE_GUEST', 'SANDBOX_ID', 'USER', 'WORKSPACE']),
    );
  });

  test('has lo and nothing else for a network', async () => {
    const { stdout } = await run(provider, id, [
      'node',
      '-p',
      "Object.keys(require('os').networkInterfaces()).join()",
    ]);
    expect(stdout).toBe('lo\n');
  });

  test('says as a shell would that an argument is too long for the system', async () => {
    for (const tty of [undefined, { cols: 80, rows: 24 }]) {
      const { exit } = await run(provider, id, ['true', 'a'.repeat(200_000)], { tty });
      expect(exit.code).not.toBe(0);
    }
    const { exit, stderr } = await run(provider, id, ['true', 'a'.repeat(200_000)]);
    expect(exit).toEqual({ code: 126 });
    expect(stderr).toContain('the command is too long');
  });

  test('holds no descriptor of commands that have ended', async () => {
    const record = readFileSync(join(dataDir, 'sandboxes', id, 'process.json'), 'utf8');
    const { process: started } = JSON.parse(record) as StartRecord;
    const count = (): number => openFiles(started.pid).length;
    await run(provider, id, ['true']);
    const before = count();
    expect(before).toBeGreaterThan(10);
    await Promise.all(Array.from({ length: 40 }, () => run(provider, id, ['echo'], { input: 'x' })));
    expect(await comesTrue(() => count() <= before + 1)).toBe(true);
  });

  test.each(['at once', 'while it starts'])('leaves nothing of a create that is aborted %s', async (when) => {
    const other = sandboxId();
    const abort = new AbortController();
    const creating = provider.create({ id: other }, abort.signal);
    creating.catch(() => {});
    const record = join(dataDir, 'sandboxes', other, 'process.json');
    if (when === 'while it starts') expect(await comesTrue(() => existsSync(record))).toBe(true);
    abort.abort(new Error('never mind'));
    await expect(creating).rejects.toThrow('never mind');
    expect(await provider.inspect(other)).toMatchObject({ state: 'absent' });
    expect(existsSync(join(dataDir, 'sandboxes', other))).toBe(false);
    expect(processesWith(other)).toEqual([]);
  });

  test.each([
    ['a relative cwd', { argv: ['true'], cwd: 'here' }],
    ['a zero byte in an argument', { argv: ['echo', 'a\0b'] }],
    ['a zero byte in a variable', { argv: ['true'], env: { A: 'a\0b' } }],
    ['a variable without a name', { argv: ['true'], env: { '': 'x' } }],
    ['a variable’s name with =', { argv: ['true'], env: { 'A=B': 'x' } }],
    ['a terminal without columns', { argv: ['true'], tty: { cols: 0, rows: 24 } }],
    ['a command of 5 MB', { argv: ['echo', 'a'.repeat(5_000_000)] }],
  ] as const)('refuses %s as invalid_request', async (_title, command) => {
    expect(await codeOf(provider.exec(id, command))).toBe('invalid_request');
  });
});
