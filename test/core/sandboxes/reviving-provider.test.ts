import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from '../../host/support/commands.ts';

let porthole: TestHost;
beforeAll(async () => {
  porthole = await startTestHost();
});
afterAll(() => porthole.end());

const makeSandbox = async () =>
  (await porthole.call('POST', '/v1/sandbox', { body: {} })).json<{ id: string }>().id;
/** Ends the sandbox from within, as its own code can, and waits until that is detected. */
const die = async (id: string) => {
  // Whether the init reports its start before it dies is a race.
  await execute(porthole, id, ['sh', '-c', 'echo kept > file; kill -9 2; sleep 60']).catch(() => undefined);
  const { sandboxes } = porthole.host.services;
  while ((await sandboxes.inspect(id)).state === 'running') await delay(10);
};

test('restarts a sandbox that died, with its files, for the next command', async () => {
  const id = await makeSandbox();
  await die(id);
  const { stdout, exitCode } = await execute(porthole, id, ['cat', 'file']);
  expect([stdout.toString(), exitCode]).toEqual(['kept\n', 0]);
});

test('reports that the sandbox died when a command was interrupted', async () => {
  const id = await makeSandbox();
  const answer = await porthole.call('POST', `/v1/sandbox/${id}/exec`, {
    body: { argv: ['sh', '-c', 'kill -9 2; sleep 60'] },
    headers: { accept: 'application/json' },
  });
  expect([answer.status, answer.json()]).toMatchObject([
    502,
    {
      code: 'exec_transport_error',
      error: `Sandbox ${id} is no longer running (its processes have ended), and its command ended with it. Run the command again: that brings the sandbox back with its files.`,
    },
  ]);
});

test('keeps a sandbox stopped that was stopped on purpose', async () => {
  const id = await makeSandbox();
  const { records, sandboxes } = porthole.host.services;
  await records.sandboxes.setDesired(id, 'stopped');
  await sandboxes.stop(id);
  await expect(sandboxes.exec(id, { argv: ['true'] })).rejects.toMatchObject({ code: 'sandbox_not_running' });
});
