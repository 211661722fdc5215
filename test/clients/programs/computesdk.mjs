/** ComputeSDK with its provider for E2B. */
import assert from 'node:assert/strict';
import { e2b } from '@computesdk/e2b';
import { bodyAt, equal, finish, LISTENS, SERVE, step } from './steps.mjs';

const provider = e2b({ apiKey: process.env.E2B_API_KEY });
let sandbox;
const run = (command, options) => sandbox.runCommand(command, options);
await step('create', async () => (sandbox = await provider.sandbox.create({ envs: { FIRST: '1' } })), {
  needed: true,
});
await step('command', async () => {
  const { stdout, exitCode } = await run(`sh -c 'echo "$FIRST $SECOND"'`, { env: { SECOND: '2' } });
  equal([stdout, exitCode], ['1 2\n', 0]);
});
await step('exit code', async () => equal((await run('exit 3')).exitCode, 3));
await step('working directory', async () => {
  equal((await run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n');
});
await step('command in the background', async () => {
  equal((await run('sleep 1', { background: true })).exitCode, 0);
});
await step('write', () => sandbox.filesystem.writeFile('/tmp/a.txt', 'hello'));
await step('read', async () => equal(await sandbox.filesystem.readFile('/tmp/a.txt'), 'hello'));
await step('make a folder', () => sandbox.filesystem.mkdir('/tmp/made'));
await step('list', async () => {
  const entries = await sandbox.filesystem.readdir('/tmp');
  assert.ok(entries.some(({ name }) => name === 'a.txt') && entries.some(({ name }) => name === 'made'));
});
await step('exists', async () => equal(await sandbox.filesystem.exists('/tmp/none'), false));
await step('remove', async () => {
  await sandbox.filesystem.remove('/tmp/a.txt');
  equal(await sandbox.filesystem.exists('/tmp/a.txt'), false);
});
await step('getInfo', async () => equal((await sandbox.getInfo()).status, 'running'));
await step('getById', async () => {
  const again = await provider.sandbox.getById(sandbox.sandboxId);
  equal((await again.runCommand('echo yes')).stdout, 'yes\n');
});
await step('list sandboxes', async () => {
  const all = await provider.sandbox.list();
  assert.ok(all.some(({ sandboxId }) => sandboxId === sandbox.sandboxId));
});
await step('getUrl', async () => {
  await run(SERVE, { background: true });
  await run(LISTENS);
  const { host } = new URL(await sandbox.getUrl({ port: 3000 }));
  const token = sandbox.getInstance().trafficAccessToken;
  const headers = token === undefined ? {} : { 'e2b-traffic-access-token': token };
  equal(await bodyAt(host, headers), 'here\n');
});
await step('snapshot', async () => {
  const { id } = await provider.snapshot.create(sandbox.sandboxId, {});
  await (await provider.sandbox.create({ snapshotId: id })).destroy();
});
await step('destroy', async () => {
  await sandbox.destroy();
  equal(await provider.sandbox.getById(sandbox.sandboxId), null);
});
finish();
