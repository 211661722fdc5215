/** Previews of declared servers that do not become ready, and processes in an expiring sandbox. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { keepLifecycle } from '#core/sandboxes/lifecycle-pass.ts';
import type { ProcessInfo } from '#protocol/guest/processes-protocol.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { type MadeRun, makeRun } from './support/runs.ts';

let porthole: TestHost;
let run: MadeRun;
beforeAll(async () => {
  porthole = await startTestHost({ Sandbox__Preview__ReadyTimeoutSeconds: '3' });
  run = await makeRun(porthole, undefined, { auto_approve_tools: true });
});
afterAll(() => porthole.end());

const put = (name: string, body: object) =>
  porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/${name}`, { body });
const preview = (port: number) =>
  porthole.call('POST', `/api/runs/${run.runId}/sandbox/port-forward`, { body: { target_port: port } });

test('shows in a preview what a server printed that ends again and again', async () => {
  await put('crashes', { command: 'echo no such file; exit 1', port: 3300 });
  const started = await preview(3300);
  expect(started.json()).toMatchObject({ ready: false, reason: 'server_failed', server: 'crashes' });
  expect(started.json<{ log: string[] }>().log.at(-1)).toBe('no such file');
});

test('porthole preview prints it in the sandbox', async () => {
  const { exitCode, stdout, stderr } = await execute(porthole, run.sandboxId, [
    'porthole',
    'preview',
    '3300',
  ]);
  expect([exitCode, stdout.toString()]).toEqual([0, expect.stringMatching(/^http:\/\/\S+\n$/)]);
  expect(stderr.toString()).toMatch(
    /^porthole: the preview is live, but server crashes failed\. It printed last:\n(?:no such file\n)+$/,
  );
});

test('says in a preview that its server is starting when the server takes longer than the wait', async () => {
  await put('slow', { argv: ['sleep', '600'], port: 3301 });
  expect((await preview(3301)).json()).toMatchObject({ ready: false, reason: 'starting' });
});

test('ends a process as expired when no heartbeat came in time', async () => {
  const made = await porthole.call('POST', '/v1/sandbox', { body: { ttl_seconds: 60 } });
  const path = `/v1/sandbox/${made.json<{ id: string }>().id}`;
  const { id } = (
    await porthole.call('POST', `${path}/processes`, { body: { argv: ['sleep', '600'] } })
  ).json<{
    id: string;
  }>();
  const { services } = porthole.host;
  const late = new Date(Date.now() + 120_000);
  const pass = await keepLifecycle({
    ...services,
    clock: { ...services.clock, now: () => late },
    limits: { idle: 3_600_000, retention: 3_600_000 },
    failed: (_id, error) => {
      throw error;
    },
  });
  expect(pass).toMatchObject({ lapse: 1 });
  await porthole.call('POST', `${path}/resume`);
  const { exit } = (await porthole.call('GET', `${path}/processes/${id}`)).json<ProcessInfo>();
  expect(exit).toMatchObject({ code: null, signal: null, reason: 'expired' });
});
