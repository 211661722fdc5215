/** The isolation of local sandboxes that the configuration asks for. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { usageReport } from '#protocol/guest/usage-protocol.ts';
import { execute } from './support/commands.ts';
import { makeRun } from './support/runs.ts';
import { missingFor, runsc } from '#test/adapters/local/machine.ts';
import { fetchRaw } from '#test/proxy/gateway-fixture.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';

const MIB = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), 'porthole-isolation-'));
afterAll(() => rmSync(folder, { recursive: true }));

const start = (environment: Readonly<Record<string, string>>): Promise<string> =>
  startHostProcess({ dataDir: join(folder, 'data'), environment }).then(
    async (host) => {
      await host.end();
      return 'it started';
    },
    (error: unknown) => (error as Error).message,
  );

test.each([
  [
    'a word that is no isolation',
    { PORTHOLE_ISOLATION: 'chroot' },
    'PORTHOLE_ISOLATION: must be auto, bubblewrap, unshare or gvisor',
  ],
  [
    'gvisor where runsc is not installed',
    { PORTHOLE_ISOLATION: 'gvisor', PORTHOLE_RUNSC: 'no-runsc' },
    'PORTHOLE_ISOLATION: gvisor, but no-runsc is not installed: install runsc',
  ],
  [
    'gvisor where a trial sandbox fails',
    { PORTHOLE_ISOLATION: 'gvisor', PORTHOLE_RUNSC: '/bin/false' },
    'PORTHOLE_ISOLATION: gvisor, but a trial sandbox failed (exit code 1): install a current release of runsc',
  ],
])('does not start for %s, and names the remedy', async (_title, environment, problem) => {
  expect(await start(environment)).toContain(problem);
});

suite('a host with gVisor', missingFor('gvisor'), () => {
  test('says in limits and in health what isolates, and serves a preview', async () => {
    const host = await startTestHost({ PORTHOLE_ISOLATION: 'gvisor', PORTHOLE_RUNSC: runsc });
    try {
      const { runId, sandboxId } = await makeRun(host, undefined, { auto_approve_tools: true });
      const { limits } = (await host.call('GET', `/v1/sandbox/${sandboxId}`)).json<{ limits: object }>();
      expect(limits).toMatchObject({
        network: { enforced_by: 'gVisor' },
        system_calls: { enforced_by: 'gVisor' },
      });
      const argv = ['node', '-e', "require('http').createServer((_, r) => r.end('hi')).listen(3000)"];
      await host.call('PUT', `/v1/sandbox/${sandboxId}/servers/web`, { body: { argv, port: 3000 } });
      const opened = await host.call('POST', `/api/runs/${runId}/sandbox/port-forward`, {
        body: { target_port: 3000 },
      });
      const at = new URL(opened.json<{ preview_url: string }>().preview_url);
      expect(await fetchRaw(Number(at.port), at.host, '/')).toMatchObject({ status: 200, body: 'hi' });
    } finally {
      await host.end();
    }
  });

  test('counts the memory of its processes without the files that they share', async () => {
    const host = await startTestHost({ PORTHOLE_ISOLATION: 'gvisor', PORTHOLE_RUNSC: runsc });
    try {
      const { sandboxId } = await makeRun(host);
      const guest = host.host.services.guests.of(sandboxId);
      const memory = async () => (await guest.call('GET', '/v1/usage', usageReport)).value.memory_bytes;
      const before = await memory();
      await execute(host, sandboxId, ['sh', '-c', 'for n in $(seq 40); do sleep 600 & done']);
      // Each has 3 MB of files in memory, and 0.4 MB that it does not share.
      expect((await memory()) - before).toBeLessThan(40 * MIB);
      const script =
        'const kept = Buffer.alloc(200 * 2 ** 20, 1); console.log("up"); setTimeout(() => kept, 600000)';
      await execute(host, sandboxId, [
        'sh',
        '-c',
        `node -e '${script}' >up & until grep -q up up; do sleep 0.1; done`,
      ]);
      const grown = (await memory()) - before;
      expect(grown).toBeGreaterThan(200 * MIB);
      expect(grown).toBeLessThan(290 * MIB);
    } finally {
      await host.end();
    }
  });
});
