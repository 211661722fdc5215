import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readCpuTime } from '#adapters/local/sandbox-cgroup.ts';
import { SandboxFolder } from '#adapters/local/sandbox-folder.ts';
import { collect } from '#test/support/collect.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { Porthole } from '../../client/node/index.ts';

let dataDir: string;
let host: HostProcess;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'porthole-killed-'));
});
afterAll(async () => {
  await host?.end();
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);

const porthole = () => new Porthole({ url: `http://127.0.0.1:${host.port}` });
const BUSY = 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done';

test('misses nothing that was used before and after the host was killed between readings', async () => {
  host = await startHostProcess({ dataDir });
  const { id } = await porthole().sandboxes.create();
  await porthole().sandboxes.at(id).exec(BUSY).collect();
  await host.end('SIGKILL');
  host = await startHostProcess({ dataDir });
  const sandbox = await porthole().sandboxes.get(id);
  await sandbox.exec(BUSY).collect();
  const started = new SandboxFolder(join(dataDir, 'sandboxes'), id).started();
  const counted = readCpuTime(started?.cgroup ?? [])?.seconds ?? NaN;
  await sandbox.stop();
  const [row] = await collect(porthole().usage.list({ by: ['sandbox'], sandbox: id }));
  expect(counted).toBeGreaterThan(0.5);
  expect(Math.abs((row?.vcpu_s ?? 0) / counted - 1)).toBeLessThan(0.02);
  expect(row?.estimated).toBe(false);
});
