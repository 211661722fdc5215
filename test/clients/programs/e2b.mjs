/** E2B's SDK for JavaScript, and the one of the code interpreter, which extends it. */
import assert from 'node:assert/strict';
import { bodyAt, equal, finish, LISTENS, SERVE, step, textOf } from './steps.mjs';

const [package_] = process.argv.slice(2);
const { Sandbox } = await import(package_);
const isInterpreter = package_.includes('code-interpreter');
const template = isInterpreter ? 'base' : undefined;
const options = { timeoutMs: 300_000, metadata: { purpose: 'matrix' }, envs: { FIRST: '1' } };
let sandbox;

if (isInterpreter) {
  await step('create with the default template', async () => {
    await (await Sandbox.create({ timeoutMs: 60_000 })).kill();
  });
}
await step(
  'create',
  async () => {
    sandbox =
      template === undefined ? await Sandbox.create(options) : await Sandbox.create(template, options);
  },
  { needed: true },
);
await step('command', async () => {
  equal((await sandbox.commands.run('echo "$FIRST $SECOND"', { envs: { SECOND: '2' } })).stdout, '1 2\n');
});
await step('exit code', async () => {
  await assert.rejects(sandbox.commands.run('echo no >&2; exit 3'), { exitCode: 3 });
});
await step('command in the background', async () => {
  const sleep = await sandbox.commands.run('sleep 300', { background: true });
  assert.ok((await sandbox.commands.list()).some(({ pid }) => pid === sleep.pid));
  equal(await sandbox.commands.kill(sleep.pid), true);
});
await step('input', async () => {
  const cat = await sandbox.commands.run('head -n 1', { background: true, stdin: true });
  await sandbox.commands.sendStdin(cat.pid, 'line\n');
  equal((await cat.wait()).stdout, 'line\n');
});
await step('terminal', async () => {
  let output = '';
  const onData = (data) => void (output += Buffer.from(data).toString());
  const pty = await sandbox.pty.create({ cols: 80, rows: 24, onData, timeoutMs: 30_000 });
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('echo $((6 * 7)); exit\n'));
  await pty.wait();
  assert.match(output, /42/);
});
await step('write', () => sandbox.files.write('a.txt', 'hello'));
await step('write of several', () =>
  sandbox.files.write([
    { path: 'made/b.txt', data: 'b' },
    { path: 'made/c.bin', data: new Uint8Array([0, 255]).buffer },
  ]),
);
await step('read', async () => equal(await sandbox.files.read('a.txt'), 'hello'));
await step('read of bytes', async () => {
  equal([...(await sandbox.files.read('made/c.bin', { format: 'bytes' }))], [0, 255]);
});
await step('list', async () => {
  equal((await sandbox.files.list('made')).map(({ name }) => name).sort(), ['b.txt', 'c.bin']);
});
await step('exists', async () => equal(await sandbox.files.exists('made/none'), false));
await step('file information', async () => equal((await sandbox.files.getInfo('a.txt')).size, 5));
await step('make a folder', async () => equal(await sandbox.files.makeDir('folder'), true));
await step('rename', () => sandbox.files.rename('a.txt', 'folder/a.txt'));
await step('watch', async () => {
  const seen = Promise.withResolvers();
  const watching = await sandbox.files.watchDir('folder', ({ name }) => seen.resolve(name));
  await sandbox.files.write('folder/new.txt', 'x');
  equal(await seen.promise, 'new.txt');
  await watching.stop();
});
await step('remove', () => sandbox.files.remove('made'));
await step('downloadUrl', async () => {
  const url = await sandbox.downloadUrl('folder/a.txt', { useSignatureExpiration: 60_000 });
  equal(await textOf(fetch(url)), 'hello');
});
await step('uploadUrl', async () => {
  const body = new FormData();
  body.append('file', new Blob(['up']), 'up.txt');
  const url = await sandbox.uploadUrl('up.txt', { useSignatureExpiration: 60_000 });
  await textOf(fetch(url, { method: 'POST', body }));
  equal(await sandbox.files.read('up.txt'), 'up');
});
await step('setTimeout', () => sandbox.setTimeout(600_000));
await step('getInfo', async () => equal((await sandbox.getInfo()).metadata.purpose, 'matrix'));
await step('list sandboxes', async () => {
  const listed = await Sandbox.list({ query: { metadata: { purpose: 'matrix' } } }).nextItems();
  assert.ok(listed.some(({ sandboxId }) => sandboxId === sandbox.sandboxId));
});
await step('connect', async () => {
  const again = await Sandbox.connect(sandbox.sandboxId);
  equal((await again.commands.run('cat folder/a.txt')).stdout, 'hello');
  equal(await again.files.read('folder/a.txt'), 'hello');
});
await step('getHost', async () => {
  await sandbox.commands.run(SERVE, { background: true });
  await sandbox.commands.run(LISTENS);
  const token = sandbox.trafficAccessToken;
  const headers = token === undefined ? {} : { 'e2b-traffic-access-token': token };
  equal(await bodyAt(sandbox.getHost(3000), headers), 'here\n');
});
await step('getMetrics', async () => assert.ok((await sandbox.getMetrics()).at(-1).memTotal > 0));
await step('snapshot', async () => {
  const { snapshotId } = await sandbox.createSnapshot();
  const restored = await Sandbox.create(snapshotId, { timeoutMs: 60_000 });
  equal(await restored.files.read('folder/a.txt'), 'hello');
  await restored.kill();
});
await step('pause and connect', async () => {
  await (sandbox.pause?.() ?? sandbox.betaPause());
  const again = await Sandbox.connect(sandbox.sandboxId);
  equal(await again.files.read('folder/a.txt'), 'hello');
});
if (isInterpreter) {
  await step('runCode', async () => {
    await sandbox.runCode('x = 6');
    equal((await sandbox.runCode('x * 7')).text, '42');
  });
}
await step('kill', async () => equal(await sandbox.kill(), true));
await step('kill again', async () => equal(await sandbox.kill(), false));
finish();
