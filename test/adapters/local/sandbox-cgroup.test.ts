/** The cgroup of a sandbox. Tests that need one are skipped if this user cannot create any. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalProvider, type LocalProvider } from '#adapters/local/local-provider.ts';
import { findCgroups, readHierarchies } from '#adapters/local/sandbox-cgroup.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { run, sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

test('finds its folder in a cgroup v2', () => {
  const mounts = '25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate';
  expect(readHierarchies(mounts, '0::/user.slice/app.service\n')).toEqual([
    {
      version: 2,
      folder: '/sys/fs/cgroup/user.slice/app.service',
      controllers: ['cpu', 'memory', 'pids'],
      counts: true,
    },
  ]);
});

test('finds its folders in cgroups v1, below the part of the tree that is mounted', () => {
  const mounts = [
    '30 20 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
    '31 20 0:31 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
    '32 20 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd',
    '33 20 0:33 / /proc rw - proc proc rw',
  ].join('\n');
  const own = '4:memory:/docker/abc/inner\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n';
  expect(readHierarchies(mounts, own).filter(({ controllers }) => controllers.length > 0)).toEqual([
    { version: 1, folder: '/sys/fs/cgroup/cpu,cpuacct/docker/abc', controllers: ['cpu'], counts: true },
    { version: 1, folder: '/sys/fs/cgroup/memory/inner', controllers: ['memory'], counts: false },
  ]);
});

const cgroups = await findCgroups();
const missing =
  missingFor('bubblewrap') ??
  (cgroups?.controllers.size === 3
    ? undefined
    : 'this user cannot make cgroups for cpu, memory and pids: run as root, or in a delegated cgroup');

suite('cgroup of a local sandbox', missing, () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'porthole-cgroup-'));
  const id = sandboxId();
  let provider: LocalProvider & TestProvider;

  beforeAll(async () => {
    provider = withGuests(createLocalProvider({ dataDir }));
    await provider.create({ id, resources: { cpu: 0.5, memoryMb: 256 } });
  });
  afterAll(async () => {
    await provider.destroy(id);
    await provider.close();
    rmSync(dataDir, { recursive: true });
  });

  const folders = (): readonly string[] =>
    (
      JSON.parse(readFileSync(join(dataDir, 'sandboxes', id, 'process.json'), 'utf8')) as {
        cgroup: readonly string[];
      }
    ).cgroup;

  test('tells that CPU, memory and processes are limited', async () => {
    expect(await provider.enforcement(false)).toMatchObject({
      cpu: 'cgroup',
      memoryMb: 'cgroup',
      processes: 'cgroup',
      systemCalls: 'seccomp filter',
    });
  });

  test('ends what takes more memory than the sandbox has, and the sandbox goes on', async () => {
    const taken = await run(provider, id, ['python3', '-c', 'x = b"x" * (400 << 20); print("taken")']);
    expect(taken.stdout).toBe('');
    expect(taken.exit).toEqual({ signal: 'SIGKILL' });
    const why = "Out of memory: the kernel ended the command, at the sandbox's limit of 256 MiB.\n";
    expect(taken.stderr).toBe(why);
    const inShell = await run(provider, id, ['sh', '-c', `python3 -c 'b"x" * (400 << 20)'; exit $?`]);
    expect([inShell.exit, inShell.stderr.endsWith(why)]).toEqual([{ code: 137 }, true]);
    expect(await run(provider, id, ['sh', '-c', 'kill -9 $$'])).toMatchObject({ stderr: '' });
    expect((await run(provider, id, ['echo', 'on'])).stdout).toBe('on\n');
  });

  test('goes on when all its folders in memory are full', async () => {
    const fill = 'for d in /tmp /var/tmp /dev/shm $HOME; do head -c 400M /dev/zero >$d/full; done';
    const filled = await run(provider, id, ['sh', '-c', fill]);
    expect(filled.stderr.match(/No space left on device/g)).toHaveLength(4);
    expect((await run(provider, id, ['sh', '-c', 'rm /tmp/full && echo on'])).stdout).toBe('on\n');
  });

  test('gives the sandbox its part of the CPU', () => {
    const quota = folders().flatMap((folder) =>
      ['cpu.max', 'cpu.cfs_quota_us']
        .map((name) => join(folder, name))
        .filter((file) => existsSync(file))
        .map((file) => readFileSync(file, 'utf8').trim()),
    );
    expect(quota).toEqual([expect.stringMatching(/^50000( 100000)?$/)]);
  });

  test('is removed when the sandbox stops, and made again with its size when it resumes', async () => {
    const before = folders();
    expect(before.length).toBeGreaterThan(0);
    await provider.stop(id);
    expect(before.filter((folder) => existsSync(folder))).toEqual([]);
    await provider.resume(id);
    expect(folders()).toEqual(before);
    const limits = before.flatMap((folder) =>
      ['memory.max', 'memory.limit_in_bytes']
        .map((name) => join(folder, name))
        .filter((file) => existsSync(file))
        .map((file) => readFileSync(file, 'utf8').trim()),
    );
    expect(limits).toEqual([String(256 * 2 ** 20)]);
  });
});
