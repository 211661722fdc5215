import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { processesWith } from '#test/adapters/local/host-processes.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { eventually } from '#test/contracts/sandbox-provider.contract.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type Missing, suite } from '#test/support/suite.ts';

/** Suites make a small file system, which only root can mount. */
function notMountable(): Missing {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'the tests do not run as root on Linux';
  const folder = mkdtempSync(join(tmpdir(), 'porthole-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder]);
    return undefined;
  } catch {
    return 'no file system can be mounted here';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

suite('a host on a full disk', missingFor('bubblewrap') ?? notMountable(), () => {
  let base: string;
  let disk: string;
  let porthole: TestHost;
  const start = () => startTestHost({}, { dataDir: join(disk, 'data') });

  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), 'porthole-full-'));
    disk = join(base, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=160m,mode=755', 'tmpfs', disk]);
    porthole = await start();
    expect(await eventually(isReserved)).toBe(true);
  });
  afterAll(async () => {
    await porthole?.end();
    execFileSync('umount', ['--lazy', disk]);
    rmSync(base, { recursive: true, force: true });
  });

  const isReserved = async () => readdirSync(join(disk, 'data', 'disk-reserve')).length === 16;
  const ballast = () => join(disk, 'ballast');
  /** By the machine, so that no sandbox is the cause. */
  const fill = () => {
    try {
      for (;;) writeFileSync(ballast(), Buffer.alloc(65_536), { flag: 'a' });
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
    expect(statfsSync(disk).bavail).toBe(0);
  };
  const make = async () =>
    (await porthole.call('POST', '/v1/sandbox', { body: {} })).json<{ id: string }>().id;
  const put = (id: string, name: string, bytes: number) =>
    porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/${name}`, { body: Buffer.alloc(bytes, 'a') });
  const state = async (id: string) =>
    (await porthole.call('GET', `/v1/sandbox/${id}`)).json<{
      state: string;
      stop_reason: string | null;
      limits: { disk_mb: { enforced_by: string | null } };
    }>();

  /** With the reason in its status, and one event in the timeline of its run. */
  const expectStopped = async (run: string, greedy: string) => {
    const reason = async () => (await state(greedy)).stop_reason;
    expect(await eventually(async () => (await reason()) !== null)).toBe(true);
    expect(await reason()).toMatch(/the disk of the machine is full.*grew most/);
    expect((await state(greedy)).state).toBe('stopped');
    const stops = async () =>
      (await porthole.call('GET', `/api/runs/${run}/activity`))
        .json<{ events: { type: string; data: object }[] }>()
        .events.filter(({ type }) => type === 'sandbox.stopped')
        .map(({ data }) => data);
    expect(await eventually(async () => (await stops()).length > 0)).toBe(true);
    expect(await stops()).toEqual([{ sandbox_id: greedy, reason: expect.stringMatching(/grew most/) }]);
  };

  test('stops and deletes sandboxes, refuses writes with 507, and starts again', async () => {
    const [first, second, third] = [await make(), await make(), await make()];
    fill();
    const refused = await put(second, 'more.txt', 100_000);
    expect([refused.status, refused.json()]).toEqual([
      507,
      expect.objectContaining({ code: 'disk_full', error: expect.stringMatching(/No space left on device/) }),
    ]);
    expect((await porthole.call('POST', '/v1/sandbox', { body: {} })).status).toBe(507);

    expect((await porthole.call('POST', `/v1/sandbox/${first}/stop`)).status).toBe(200);
    expect((await porthole.call('DELETE', `/v1/sandbox/${first}`)).status).toBe(204);
    expect(await state(second)).toMatchObject({ state: 'running', stop_reason: null });

    fill();
    await porthole.close();
    porthole = await start();
    await porthole.host.recovered;
    expect((await porthole.call('GET', '/api/runs')).status).toBe(200);

    rmSync(ballast());
    expect(await eventually(isReserved)).toBe(true);
    expect((await porthole.call('DELETE', `/v1/sandbox/${second}`)).status).toBe(204);
    expect((await porthole.call('POST', `/v1/sandbox/${third}/resume`)).status).toBe(200);
  }, 90_000);

  test('stops the sandbox that fills the disk, and no other, with the reason in its status and timeline', async () => {
    const other = await make();
    const created = await porthole.call('POST', '/api/runs', { body: {} });
    const { run_id: run, sandbox_id: greedy } = created.json<{ run_id: string; sandbox_id: string }>();
    expect((await state(greedy)).limits.disk_mb.enforced_by).toBe('disk watch');
    await porthole.call('POST', `/v1/sandbox/${greedy}/exec`, {
      body: { argv: ['sh', '-c', 'while :; do head -c 1M /dev/zero >> /workspace/big; sleep 0.02; done'] },
    });
    await expectStopped(run, greedy);
    expect(await state(other)).toMatchObject({ state: 'running', stop_reason: null });
    expect((await porthole.call('DELETE', `/v1/sandbox/${greedy}`)).status).toBe(204);
  }, 120_000);

  test('stops a program that fills the disk at once, although it takes all space that is freed', async () => {
    expect(await eventually(isReserved)).toBe(true);
    const other = await make();
    const created = await porthole.call('POST', '/api/runs', { body: {} });
    const { run_id: run, sandbox_id: greedy } = created.json<{ run_id: string; sandbox_id: string }>();
    // It ends by itself, so that no failure of this test leaves it running.
    const filler = `timeout -s KILL 60 sh -c 'while :; do head -c 64M /dev/zero >> /workspace/big; done'`;
    const ended = porthole.call('POST', `/v1/sandbox/${greedy}/exec`, {
      body: { argv: ['sh', '-c', filler] },
    });
    expect(await eventually(async () => statfsSync(disk).bavail === 0)).toBe(true);
    await expectStopped(run, greedy);
    await ended;
    expect(processesWith('head -c 64M /dev/zero')).toEqual([]);
    expect(await state(other)).toMatchObject({ state: 'running', stop_reason: null });

    expect((await porthole.call('DELETE', `/v1/sandbox/${greedy}`)).status).toBe(204);
    expect(readdirSync(join(disk, 'data', 'sandboxes'))).not.toContain(greedy);
    expect(await eventually(isReserved)).toBe(true);
  }, 90_000);
});
