/** The sandbox clients of the OpenAI Agents SDK: `e2b`, and `cloudflare` for the bridge 0.12. */
import assert from 'node:assert/strict';
import { bodyAt, equal, finish, LISTENS, SERVE, step } from './steps.mjs';

const [which] = process.argv.slice(2);
const library = await import(`@openai/agents-extensions/sandbox/${which}`);
const isE2b = which === 'e2b';
const clientWith = (options) =>
  isE2b
    ? new library.E2BSandboxClient({ timeout: 300, ...options })
    : new library.CloudflareSandboxClient({
        workerUrl: process.env.PORTHOLE_URL,
        apiKey: process.env.PORTHOLE_API_KEY,
        ...options,
      });
const client = clientWith({});
let session;
let archive;
const text = async (path) => Buffer.from(await session.readFile({ path })).toString();
await step('create', async () => (session = await client.create()), { needed: true });
await step('running', async () => equal(await session.running(), true));
await step('command', async () => assert.match(await session.execCommand({ cmd: 'echo $((6 * 7))' }), /42/));
await step('exit code', async () => {
  assert.match(await session.execCommand({ cmd: 'echo no >&2; exit 3' }), /code 3/);
});
await step('terminal', async () => {
  assert.match(await session.execCommand({ cmd: 'tty', tty: true, yieldTimeMs: 2_000 }), /\/dev\/pts\//);
});
await step('apply a patch', async () => {
  const diff = '+first\n+second\n';
  await session.createEditor().createFile({ type: 'create_file', path: "notes/it's 100%.md", diff });
});
await step('read', async () => equal(await text("notes/it's 100%.md"), 'first\nsecond'));
await step('exists', async () => {
  equal([await session.pathExists('notes'), await session.pathExists('none')], [true, false]);
});
// The client of the bridge has no ports.
if (isE2b) {
  await step('exposedPorts', async () => {
    const open = await clientWith({ exposedPorts: [3000] }).create();
    await open.execCommand({ cmd: `(${SERVE}) > /dev/null 2>&1 &` });
    await open.execCommand({ cmd: LISTENS });
    const { host, port } = await open.resolveExposedPort(3000);
    // The host is for its owner: the SDK of E2B has the token.
    const { Sandbox } = await import('e2b');
    const { trafficAccessToken } = await Sandbox.connect(open.state.sandboxId);
    const headers = { 'e2b-traffic-access-token': trafficAccessToken ?? '' };
    equal(await bodyAt(port === 443 ? host : `${host}:${port}`, headers), 'here\n');
    await open.delete();
  });
}
await step('persist', async () => (archive = await session.persistWorkspace()));
await step('hydrate', async () => {
  await session.execCommand({ cmd: 'rm -r notes' });
  await session.hydrateWorkspace(archive);
  equal(await text("notes/it's 100%.md"), 'first\nsecond');
});
await step('resume', async () => {
  session = await client.resume(session.state);
  equal(await text("notes/it's 100%.md"), 'first\nsecond');
});
await step('delete', () => session.delete());
finish();
