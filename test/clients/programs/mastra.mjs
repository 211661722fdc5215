/** Mastra's workspace with its sandbox for E2B. */
import assert from 'node:assert/strict';
import { E2BSandbox } from '@mastra/e2b';
import { bodyAt, equal, finish, LISTENS, SERVE, step } from './steps.mjs';

const id = `matrix-${process.pid}`;
let sandbox;
await step('start with the default template', async () => {
  const built = new E2BSandbox({ id: `${id}-built`, timeout: 60_000 });
  await built.start();
  await built.destroy();
});
await step(
  'start',
  async () => {
    sandbox = new E2BSandbox({ id, template: 'base', timeout: 300_000, env: { FIRST: '1' } });
    await sandbox.start();
  },
  { needed: true },
);
await step('command', async () => {
  const { stdout, exitCode } = await sandbox.executeCommand('sh', ['-c', 'echo "$FIRST"']);
  equal([stdout, exitCode], ['1\n', 0]);
});
await step('exit code', async () => {
  equal((await sandbox.executeCommand('sh', ['-c', 'exit 3'])).exitCode, 3);
});
await step('process in the background', async () => {
  const sleep = await sandbox.processes.spawn('sleep 300');
  assert.ok((await sandbox.processes.list()).some(({ pid }) => pid === sleep.pid));
  equal(await sandbox.processes.kill(sleep.pid), true);
});
if (sandbox?.writeFiles !== undefined) {
  await step('write', () => sandbox.writeFiles([{ path: '/home/user/b.txt', content: 'hello' }]));
}
await step('write by the SDK', () => sandbox.e2b.files.write('/home/user/a.txt', 'hello'));
await step('read', async () => equal(await sandbox.e2b.files.read('/home/user/a.txt'), 'hello'));
await step('getInfo', async () => equal((await sandbox.getInfo()).status, 'running'));
await step('ready', async () => equal(await sandbox.isReady(), true));
await step('connect', async () => {
  const again = new E2BSandbox({ id, template: 'base' });
  await again.start();
  equal(again.e2b.sandboxId, sandbox.e2b.sandboxId);
});
if (sandbox?.networking !== undefined) {
  await step('getPortUrl', async () => {
    await sandbox.processes.spawn(SERVE);
    await sandbox.executeCommand('sh', ['-c', LISTENS]);
    const { host } = new URL(await sandbox.networking.getPortUrl(3000));
    const token = sandbox.e2b.trafficAccessToken;
    const headers = token === undefined ? {} : { 'e2b-traffic-access-token': token };
    equal(await bodyAt(host, headers), 'here\n');
  });
}
await step('stop and start', async () => {
  await sandbox.stop();
  const again = new E2BSandbox({ id, template: 'base' });
  await again.start();
  equal(await again.e2b.files.read('/home/user/a.txt'), 'hello');
  sandbox = again;
});
await step('destroy', () => sandbox.destroy());
finish();
