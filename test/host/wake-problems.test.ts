/** Why a stopped preview does not start for a visitor, as the page says it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Answer, startTestHost } from '#test/support/in-process-host.ts';
import { ALICE, CAROL, PEOPLE } from './support/people.ts';
import { type Entry, PreviewVisitors } from './support/preview-visitors.ts';
import { startPreview } from './support/runs.ts';

const PORT = 3414;
/** As many sandboxes and previews as the quota of alice. */
const QUOTAS = JSON.stringify({ default: { sandboxes: 1, runs: null, previews: null } });
let v: PreviewVisitors;
beforeAll(async () => {
  const settings = {
    ...PEOPLE,
    PORTHOLE_QUOTAS: QUOTAS,
    Sandbox__Preview__ReadyTimeoutSeconds: '60',
    Sandbox__Preview__MaxWakesPerLink: '1',
    Sandbox__Preview__MaxWakesPerOwner: '4',
  };
  v = await PreviewVisitors.start(PORT, await startTestHost(settings));
  await v.setLevel('org');
});
afterAll(() => v.porthole.end());

const sandbox = (method: string, path: string, body?: unknown): Promise<Answer> =>
  v.porthole.call(method, `/v1/sandbox/${v.run.sandboxId}${path}`, { token: ALICE, body });
/** As the page: asks again while the preview starts. */
async function open(key?: string, more: object = {}): Promise<Entry> {
  const { entry } = await v.open(key, { wake: 'opened', ...more });
  return entry.needs === 'wait' ? open(key, more) : entry;
}

beforeEach(() => sandbox('POST', '/stop'));

describe('its owner has no room', () => {
  let other = '';
  beforeAll(async () => {
    await sandbox('POST', '/stop');
    const made = await v.porthole.call('POST', '/v1/sandbox', { token: ALICE, body: {} });
    other = made.json<{ id: string }>().id;
  });
  afterAll(() => v.porthole.call('DELETE', `/v1/sandbox/${other}`, { token: ALICE }));

  test('says so to the owner in full, and to others without the owner’s sandboxes', async () => {
    const owner = await open(ALICE);
    expect(owner).toMatchObject({ needs: 'owner', reason: 'This preview could not be started' });
    expect(owner.remedy).toContain(other);
    const carol = await open(CAROL);
    expect(carol).toMatchObject({ needs: 'owner', reason: 'There is no room to start this preview' });
    expect(JSON.stringify(carol)).not.toContain(other);
  });
});

describe('its server', () => {
  const serve = (script: string) =>
    sandbox('PUT', '/servers/web', { argv: ['node', '-e', script], port: PORT, restart: 'never' });
  beforeEach(async () => {
    await sandbox('POST', '/resume');
    await sandbox('DELETE', '/servers/web');
    await startPreview(v.porthole, v.run.runId, PORT, ALICE);
  });
  afterEach(() => sandbox('DELETE', '/servers/web'));

  test('is not declared', async () => {
    await sandbox('POST', '/stop');
    expect(await open(ALICE)).toMatchObject({
      needs: 'owner',
      reason: `No server is declared for port ${PORT}`,
      remedy: expect.stringContaining(`porthole serve ${PORT} -- COMMAND`),
    });
    expect((await open(ALICE)).ticket).toBeDefined();
  });

  test('fails, which its owner reads with its output', async () => {
    await serve('console.log("no such table"); process.exit(1)');
    await sandbox('POST', '/stop');
    const owner = await open(ALICE);
    expect(owner).toMatchObject({ reason: 'The server web of this preview does not start' });
    expect(owner.remedy).toContain('no such table');
    await sandbox('POST', '/stop');
    const carol = await open(CAROL);
    expect(carol).toMatchObject({ reason: 'The server web of this preview does not start' });
    expect(JSON.stringify(carol)).not.toContain('no such table');
  });
});

test('was started too often by a link, or for one owner', async () => {
  const { id, url } = (await v.api('POST', '/links', { label: 'x', may_wake: true })).json<{
    id: string;
    url: string;
  }>();
  const held = { link: id, secret: url.slice(url.lastIndexOf('.') + 1) };
  const press = () => open(undefined, { ...held, wake: 'pressed' });
  // Carol has started it twice above.
  expect((await press()).reason).not.toBe('This preview was started too often in the last hour');
  await sandbox('POST', '/stop');
  expect(await press()).toMatchObject({
    needs: 'owner',
    reason: 'This preview was started too often in the last hour',
  });
  expect((await open(CAROL)).reason).not.toBe('This preview was started too often in the last hour');
  await sandbox('POST', '/stop');
  expect(await open(CAROL)).toMatchObject({
    reason: 'This preview was started too often in the last hour',
  });
  expect((await open(ALICE)).reason).toContain('No server is declared');
});
