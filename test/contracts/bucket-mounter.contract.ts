/** The contract of buckets in sandboxes, with any kind of isolation. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { ownerOf } from '#adapters/local/drop-root.ts';
import { NamespaceMounter, type NamespaceMounterOptions } from '#adapters/mounts/namespace-mounter.ts';
import type { BucketMount } from '#core/mounts/mount-bucket.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import { openSandboxService } from '#test/support/open-sandbox-service.ts';
import { type S3Server, startS3 } from '#test/support/seaweedfs.ts';

export interface BucketHarness {
  readonly provider: TestProvider;
  readonly target: NamespaceMounterOptions['target'];
  /** The error of a write to /mnt. */
  readonly refusal: 'Read-only file system' | 'Permission denied';
  /** A process of the machine that sees the sandbox's mounts. */
  holder(id: string): Promise<number | undefined>;
  /** Ends a sandbox as a crash does. */
  kill(id: string): Promise<void>;
  end(): Promise<void>;
}

export function bucketMounterContract(open: () => Promise<BucketHarness>): void {
  let s3: S3Server;
  let harness: BucketHarness;
  let provider: TestProvider;
  let mounter: NamespaceMounter;
  const lost: string[] = [];
  const id = 'bucketsandbox';
  beforeAll(async () => {
    s3 = await startS3();
    await s3.request('PUT', '/data');
    harness = await open();
    ({ provider } = harness);
    mounter = new NamespaceMounter({
      target: (...where) => harness.target(...where),
      lost: (_sandboxId, path) => void lost.push(path),
    });
    await provider.create({ id });
  }, 120_000);
  afterEach(() => mounter.unmountAll(id));
  afterAll(async () => {
    await mounter.close();
    await provider.destroy(id);
    await harness.end();
    await s3.stop();
  });

  function bucket(mountPath: string, changes: Partial<BucketMount> = {}): BucketMount {
    const { endpoint, accessKeyId, secretAccessKey } = s3;
    return {
      mountPath,
      bucket: 'data',
      endpoint,
      prefix: '/',
      readOnly: false,
      credentials: { accessKeyId, secretAccessKey },
      s3fsOptions: ['use_path_request_style'],
      ...changes,
    };
  }

  /** The output of a command in the sandbox, both streams. */
  async function run(script: string): Promise<string> {
    const process = await provider.exec(id, { argv: ['sh', '-c', `exec 2>&1; ${script}`] });
    const [said] = await Promise.all([text(process.stdout), process.exited]);
    return said;
  }

  /** The mount supervisors of this process, and the servers of mounts that a user runs. */
  function processes(): string[] {
    const owner = ownerOf(id) ?? process.getuid?.();
    return readdirSync('/proc').filter((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        const isOurs = status.includes(`\nUid:\t${owner}\t`) || status.includes(`\nPPid:\t${process.pid}\n`);
        return isOurs && /^(mount-supervisor|s3fs)\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
      } catch {
        return false;
      }
    });
  }

  test('has what a command writes in the bucket when the command ends, and shows inside what is put there', async () => {
    await mounter.mount(id, bucket('/mnt/data'));
    expect(await run('echo from inside > /mnt/data/in.txt')).toBe('');
    expect(await s3.read('/data/in.txt')).toBe('from inside\n');
    await s3.request('PUT', '/data/out.txt', 'from outside');
    expect(await run('cat /mnt/data/out.txt')).toBe('from outside');
  });

  test('mounts a bucket below /workspace, in folders that the sandbox made', async () => {
    await run('mkdir -p /workspace/a/b');
    await mounter.mount(id, bucket('/workspace/a/b'));
    await run('echo 1 > /workspace/a/b/ws.txt');
    expect(await s3.read('/data/ws.txt')).toBe('1\n');
  });

  test('finds a mount again under a folder that was renamed meanwhile', async () => {
    await run('mkdir -p /workspace/before/b; touch /workspace/before/b.txt');
    await mounter.mount(id, bucket('/workspace/before/b'));
    await run('echo 2 > /workspace/before/b/ws2.txt; mv /workspace/before /workspace/after');
    await mounter.unmount(id, '/workspace/before/b');
    expect(await run('ls /workspace/after/b; cat /proc/self/mountinfo | grep -c fuse')).toBe('0\n');
  });

  test('shows a folder of the bucket for a prefix, and nothing above it', async () => {
    await s3.request('PUT', '/data/deep/er/file', 'deep');
    await mounter.mount(id, bucket('/mnt/deep', { prefix: '/deep/er' }));
    expect(await run('ls /mnt/deep; ls /mnt/deep/.. ')).toBe('file\ndeep\n');
  });

  test('refuses to write to a mount for reading', async () => {
    await s3.request('PUT', '/data/ro.txt', 'kept');
    await mounter.mount(id, bucket('/mnt/data', { readOnly: true }));
    expect(await run('echo x > /mnt/data/ro.txt')).toContain('Read-only file system');
    expect(await s3.read('/data/ro.txt')).toBe('kept');
  });

  test('transfers 20 files and 32 MiB whole, both ways', async () => {
    await mounter.mount(id, bucket('/mnt/data'));
    const script =
      'cd /workspace && head -c 33554432 /dev/urandom > big && cp big /mnt/data/big && ' +
      'for i in $(seq 20); do echo file $i > /mnt/data/n$i; done; sha256sum < big';
    const digest = await run(script);
    const listed = await (await s3.request('GET', '/data?list-type=2&prefix=n')).text();
    expect(listed.match(/<Key>n\d+<\/Key>/g)).toHaveLength(20);
    await mounter.unmount(id, '/mnt/data');
    await mounter.mount(id, bucket('/mnt/again', { readOnly: true }));
    expect(await run('sha256sum < /mnt/again/big')).toBe(digest);
    expect(await run('cat /mnt/again/n20')).toBe('file 20\n');
  }, 60_000);

  test.each([
    [
      'wrong keys',
      { credentials: { accessKeyId: 'PORTHOLETESTKEY', secretAccessKey: 'wrong-secret-value' } },
      /^mount failed: the S3 server at http:\/\/127\.0\.0\.1:\d+ refuses the credentials$/,
    ],
    ['no such bucket', { bucket: 'nowhere' }, /^mount failed: there is no bucket nowhere at /],
    [
      'no server',
      { endpoint: 'http://127.0.0.1:1', s3fsOptions: ['connect_timeout=1', 'retries=1'] },
      /^mount failed: no S3 server answers at /,
    ],
    [
      'an option that s3fs does not have',
      { s3fsOptions: ['bogus'] },
      /^mount failed: one of options.s3fsOptions is unknown to the s3fs of the host$/,
    ],
  ] as const)(
    '%s is a mount_error that says so, and leaves nothing behind',
    async (_name, changes, message) => {
      const mounting = mounter.mount(id, bucket('/mnt/x/bad', changes));
      await expect(mounting).rejects.toMatchObject({
        code: 'mount_error',
        message: expect.stringMatching(message),
      });
      const { cause } = (await mounting.catch((error: unknown) => error)) as Error;
      expect(String(cause)).not.toContain('wrong-secret-value');
      expect(await run('ls /mnt; cat /proc/self/mountinfo | grep fuse')).toBe('');
      expect(processes()).toEqual([]);
    },
    30_000,
  );

  test('refuses a path that is in use, within one or around one', async () => {
    await mounter.mount(id, bucket('/mnt/a/b'));
    for (const path of ['/mnt/a/b', '/mnt/a/b/c', '/mnt/a']) {
      await expect(mounter.mount(id, bucket(path))).rejects.toMatchObject({
        code: 'mount_error',
        message: 'mount failed: Mount path already in use: /mnt/a/b',
      });
    }
  });

  test.each(['/data', '/mnt', '/workspace', '/workspacefoo/x', '/mntx/y', '/etc/x', '/'])(
    '%s holds no bucket: the error says what does',
    async (path) => {
      await expect(mounter.mount(id, bucket(path))).rejects.toMatchObject({
        code: 'mount_error',
        message: `mount failed: ${path} cannot hold a bucket: use a path /mnt/… or /workspace/…`,
      });
    },
  );

  test.each([
    ['a link in the last place', 'ln -sfn /usr /workspace/l1', '/workspace/l1'],
    ['a link on the way', 'ln -sfn / /workspace/l2', '/workspace/l2/usr'],
    ['a link to the folder beside', 'mkdir -p /workspace/r; ln -sfn r /workspace/l3', '/workspace/l3'],
    ['a file', 'echo > /workspace/f', '/workspace/f'],
  ])('%s is not mounted on', async (_name, prepare, path) => {
    await run(prepare);
    await expect(mounter.mount(id, bucket(path))).rejects.toMatchObject({
      code: 'mount_error',
      message: `mount failed: a part of ${path} is a symbolic link or no folder: buckets are mounted on real folders`,
    });
  });

  test('mounts on or refuses a folder that turns into a link and back all the time, and never mounts on anything else', async () => {
    await run('mkdir -p /workspace/s/real/usr /workspace/s/spare; echo > /workspace/s/run');
    const swap = `const fs = require('node:fs');
      const turns = [() => fs.renameSync('real', 'x'), () => fs.symlinkSync('/', 'real'), () => fs.unlinkSync('real'), () => fs.renameSync('x', 'real')];
      while (fs.existsSync('run')) for (const turn of turns) try { turn(); } catch {}`;
    const swapping = await provider.exec(id, { argv: ['node', '-e', swap], cwd: '/workspace/s' });
    for (const stream of [swapping.stdout, swapping.stderr]) stream.resume();
    const fuseMounts = async () => {
      const holder = await harness.holder(id);
      const lines = readFileSync(`/proc/${holder}/mountinfo`, 'utf8').split('\n');
      return lines.filter((line) => line.includes(' - fuse'));
    };
    for (let i = 0; i < 10; i += 1) {
      const error = await mounter.mount(id, bucket('/workspace/s/real/usr')).catch((one: unknown) => one);
      if (error !== undefined) expect(error).toMatchObject({ code: 'mount_error' });
      const mounted = await fuseMounts();
      expect(mounted.filter((line) => !/ \S*\/workspace\/s\/(real|x)\/usr rw,/.test(line))).toEqual([]);
      await mounter.unmountAll(id);
      expect(await fuseMounts()).toEqual([]);
    }
    await run('rm /workspace/s/run');
    await swapping.exited;
    expect(await run('cat /proc/self/mountinfo | grep fuse')).toBe('');
  }, 120_000);

  test('neither keys nor processes of a mount can be seen inside, and no key shows in a command line', async () => {
    await mounter.mount(id, bucket('/mnt/data'));
    const seen = await run(
      'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/self/mountinfo; env; ls /proc; grep -rs test-secret /mnt /workspace /tmp /run /etc /home; true',
    );
    expect(seen).not.toContain(s3.secretAccessKey);
    expect(seen).not.toContain(s3.accessKeyId);
    expect(seen).not.toContain('s3fs');
    expect(processes()).toHaveLength(2);
    const listed = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(listed).toContain('s3fs data ');
    expect(listed).not.toContain(s3.secretAccessKey);
  });

  test('keeps the sandbox from unmounting, from writing beside the mount, and from finding another capability than before', async () => {
    const before = await run('grep Cap /proc/self/status');
    await mounter.mount(id, bucket('/mnt/data'));
    const said = await run(
      'umount /mnt/data; umount -l /mnt/data; fusermount -u /mnt/data; touch /mnt/new; mkdir /mnt/new',
    );
    expect(said).toContain(harness.refusal);
    expect(await run('grep Cap /proc/self/status')).toBe(before);
    expect(await run('ls -d /mnt/data; cat /proc/self/mountinfo | grep -c fuse')).toBe('/mnt/data\n1\n');
  });

  test('leaves the mounts of the host unchanged', async () => {
    const before = readFileSync('/proc/self/mountinfo', 'utf8');
    await mounter.mount(id, bucket('/mnt/data'));
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).toBe(before);
  });

  test('removes and reports a mount when its server is killed', async () => {
    await mounter.mount(id, bucket('/mnt/data'));
    const server = processes().find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('s3fs'));
    process.kill(Number(server), 'SIGKILL');
    await until(() => lost.includes('/mnt/data'));
    expect(await run('ls -A /mnt')).toBe('');
    await mounter.mount(id, bucket('/mnt/data'));
  });

  test('ends the server with its supervisor, and removes the dead mount', async () => {
    await mounter.mount(id, bucket('/mnt/keep'));
    const supervisor = processes().find((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('mount-supervisor'),
    );
    process.kill(Number(supervisor), 'SIGKILL');
    await until(() => lost.includes('/mnt/keep'));
    expect(await run('ls -A /mnt; cat /proc/self/mountinfo | grep fuse')).toBe('');
    expect(processes()).toEqual([]);
  });

  test('leaves nothing of a mount that is given up while it is being made', async () => {
    const abort = new AbortController();
    const mounting = mounter.mount(id, bucket('/mnt/given-up'), abort.signal);
    abort.abort(new Error('gone away'));
    await expect(mounting).rejects.toThrow('gone away');
    expect(processes()).toEqual([]);
    expect(await run('ls /mnt; cat /proc/self/mountinfo | grep fuse')).toBe('');
  });

  test('ends a sandbox without waiting for a mount with a silent server', async () => {
    const reached = Promise.withResolvers<void>();
    const silent = createServer(() => reached.resolve()).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const mounting = mounter.mount(id, bucket('/mnt/silent', { endpoint }));
    const refused = expect(mounting).rejects.toMatchObject({ message: 'mount failed: the sandbox ends' });
    await reached.promise;
    await mounter.unmountAll(id);
    await refused;
    expect(processes()).toEqual([]);
    silent.close();
  });

  test('s3fs has no right on the host, and no way to one', async () => {
    await mounter.mount(id, bucket('/mnt/data'));
    const server = processes().find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('s3fs'));
    const status = readFileSync(`/proc/${server}/status`, 'utf8');
    expect(status).toMatch(/\nNoNewPrivs:\t1\n/);
    const isInOwnNamespace = readlinkSync(`/proc/${server}/ns/user`) !== readlinkSync('/proc/self/ns/user');
    if (!isInOwnNamespace) expect(status).toMatch(/\nCapPrm:\t0+\nCapEff:\t0+\n/);
  });

  test('replaces a mount that was left by a host killed with its mount supervisors', async () => {
    const before = new NamespaceMounter({
      async target(...where) {
        const target = await harness.target(...where);
        return {
          ...target,
          launch: (name, mount) =>
            mount === undefined ? Promise.reject(new Error('killed')) : target.launch(name, mount),
        };
      },
      lost: (_sandboxId, path) => void lost.push(`left ${path}`),
    });
    await before.mount(id, bucket('/mnt/left'));
    const supervisor = processes().find((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('mount-supervisor'),
    );
    process.kill(Number(supervisor), 'SIGKILL');
    await until(() => lost.includes('left /mnt/left'));
    await mounter.mount(id, bucket('/mnt/left'));
    await run('echo again > /mnt/left/again');
    expect(await s3.read('/data/again')).toBe('again\n');
    await mounter.unmount(id, '/mnt/left');
    expect(await run('ls -A /mnt; cat /proc/self/mountinfo | grep fuse')).toBe('');
  });

  test('restores a killed sandbox without its mounts', async () => {
    await mounter.mount(id, bucket('/mnt/killed'));
    await harness.kill(id);
    while ((await provider.inspect(id)).state === 'running') await pause(10);
    await (await openSandboxService({ provider, mounter })).resume(id);
    expect(processes()).toEqual([]);
    expect(await run('ls -A /mnt')).toBe('');
  });

  test('reports that nothing is mounted at a path where nothing was mounted', async () => {
    await expect(mounter.unmount(id, '/mnt/none')).rejects.toMatchObject({
      code: 'unmount_error',
      message: 'unmount failed: No active mount found at path: /mnt/none',
    });
  });

  test('removes the mounts of a sandbox that stops or is removed, and restores it without them', async () => {
    const wrapped = await openSandboxService({ provider, mounter });
    await mounter.mount(id, bucket('/mnt/data'));
    await wrapped.stop(id);
    expect(processes()).toEqual([]);
    await wrapped.resume(id);
    expect(await run('ls /mnt')).toBe('');
    await mounter.mount(id, bucket('/mnt/data'));
    await wrapped.destroy(id);
    expect(processes()).toEqual([]);
    await provider.create({ id });
    expect(await s3.read('/data/out.txt')).toBe('from outside');
  });
}

/** Resolves once it holds; the test's timeout ends the wait. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(10);
}
