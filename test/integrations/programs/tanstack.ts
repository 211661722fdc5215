import { portholeSandbox } from '@porthole/integrations/tanstack';
import { defineSandbox, defineWorkspace, spawnNdjson } from '@tanstack/ai-sandbox';

const provider = portholeSandbox();
const definition = defineSandbox({
  id: 'app',
  provider,
  workspace: defineWorkspace({ source: { type: 'none' }, setup: ['echo ready > setup.txt'] }),
});
const run = { threadId: 'thread', runId: 'first' };
const sandbox = await definition.ensure(run);
await sandbox.env.set({ FIRST: '1' });
await sandbox.fs.write('/workspace/src/../bytes', new Uint8Array([0, 255]));
await sandbox.fs.write(
  '/workspace/agent.sh',
  'echo \'{"n": 1}\'; read line; echo "{\\"line\\": \\"$line\\"}"\n',
);
const events: unknown[] = [];
for await (const event of spawnNdjson(sandbox, 'echo input | sh agent.sh')) events.push(event);

const cat = await sandbox.process.spawn('cat; echo "$FIRST" >&2');
await cat.stdin.write('to the ');
await cat.stdin.write('process\n');
await cat.stdin.end();
const texts = { stdout: '', stderr: '' };
for await (const text of cat.stdout) texts.stdout += text;
for await (const text of cat.stderr) texts.stderr += text;
const sleeping = await sandbox.process.spawn('sleep 300');
await sleeping.kill('SIGINT');
const numbered = await sandbox.process.spawn('sleep 300');
await numbered.kill(9);
const aborted = new AbortController();
const running = sandbox.process.exec('echo begun > begun; sleep 300', { signal: aborted.signal });
const stopped = running.catch((error: Error) => error.name);
await sandbox.process.exec('until [ -e begun ]; do sleep 0.05; done');
aborted.abort();

const result = {
  setup: await sandbox.fs.read('/workspace/setup.txt'),
  bytes: [...(await sandbox.fs.readBytes('/workspace/bytes'))],
  events,
  texts,
  exits: [await cat.wait(), await sleeping.wait(), await numbered.wait()],
  stopped: await stopped,
  ended: (await sandbox.process.exec('pgrep -x sleep || echo none')).stdout,
  git: await sandbox.process
    .exec('git init -q -b trunk . && git config user.email a@example.com && git config user.name A')
    .then(() => sandbox.git.add(['setup.txt']))
    .then(() => sandbox.git.commit('first'))
    .then(() => sandbox.git.branch()),
  outside: await sandbox.fs.read('/workspace/../etc/hosts').catch((error: Error) => error.message),
  snapshot: await sandbox.snapshot?.().catch((error: Error) => error.name),
};
const fork = await sandbox.fork?.();
const forked = [fork?.id !== sandbox.id, await fork?.fs.read('/workspace/setup.txt')];
const second = await definition.ensure({ ...run, runId: 'second' });
const resumed = second.id === sandbox.id;
await fork?.destroy();
await definition.destroy(run);
const gone = [await provider.resume({ id: sandbox.id }), await provider.resume({ id: '/no/id' })];
console.log(JSON.stringify({ ...result, forked, resumed, gone }));
