import { createCompute } from '@computesdk/provider';
import { porthole } from '@porthole/integrations/computesdk';

const compute = createCompute({ defaultProvider: porthole({}) });
const sandbox = await compute.sandbox.create({
  name: 'computed',
  envs: { FIRST: '1' },
  metadata: { purpose: 'test' },
  timeout: 600_000,
});
const { filesystem } = sandbox;
await filesystem.mkdir('/tmp/a folder');
await filesystem.writeFile('/tmp/a folder/it is.txt', 'kept: ü');
await filesystem.writeFile('/workspace/b.txt', 'b');
const chunks: string[] = [];
const run = async (command: string, options?: Parameters<typeof sandbox.runCommand>[1]) => {
  const { stdout, stderr, exitCode } = await sandbox.runCommand(command, options);
  return [stdout, stderr, exitCode];
};
const again = await compute.sandbox.getById(sandbox.sandboxId);
const { status, metadata, timeout, createdAt } = await sandbox.getInfo();
const result = {
  variables: await run('echo "$FIRST $SECOND"; pwd; echo no >&2; exit 3', {
    cwd: '/tmp/a folder',
    env: { SECOND: "it's $2" },
  }),
  timed: await run('echo begun; sleep 30', { timeout: 500 }),
  streamed: await run('echo one; echo two >&2', { onStdout: (text) => void chunks.push(text) }),
  chunks: chunks.join(''),
  background: await run('sleep 0.2; echo done > /tmp/background', { background: true }),
  afterIt: await run('until [ -e /tmp/background ]; do sleep 0.05; done; cat /tmp/background'),
  listed: (await filesystem.readdir('/tmp/a folder')).map(({ name, type, size }) => [name, type, size]),
  read: await filesystem.readFile('/tmp/a folder/it is.txt'),
  again: await again?.filesystem.readFile('/workspace/b.txt'),
  info: [status, metadata, timeout, createdAt instanceof Date],
  missing: await filesystem.readFile('/none').catch((error: Error) => error.message),
  unsupported: await compute.sandbox.create({ runtime: 'node' }).catch((error: Error) => error.message),
};
await sandbox.runCommand('python3 -m http.server 3000 --directory /workspace', { background: true });
const url = await sandbox.getUrl({ port: 3000 });
const secure = await sandbox.getUrl({ port: 3000, protocol: 'wss' });
await filesystem.remove('/tmp/a folder');
const removed = !(await filesystem.exists('/tmp/a folder'));
await sandbox.destroy();
await sandbox.destroy();
const gone = await compute.sandbox.getById(sandbox.sandboxId);
console.log(JSON.stringify({ ...result, url, secure: secure.split(':')[0], removed, gone }));
