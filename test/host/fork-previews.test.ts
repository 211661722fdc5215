/** Forks with previews, and a fork that is kept, asked of a real host. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execute } from './support/commands.ts';
import { ALICE, BOB } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';
import { makeRun, outcome, startPreview } from './support/runs.ts';

interface Forked {
  readonly sandboxes: readonly {
    readonly id: string;
    readonly run: string | null;
    readonly previews: readonly { readonly id: string; readonly url: string; readonly port: number }[];
  }[];
  readonly errors: readonly unknown[];
}

const PORT = 3412;
/** Without an app. */
const SECOND = 3413;
let v: PreviewVisitors;
let checkpoint = '';

const call = (method: string, path: string, body?: unknown, token = ALICE) =>
  v.porthole.call(method, path, { token, body });
const put = (sandbox: string, text: string) =>
  v.porthole.call('PUT', `/v1/sandbox/${sandbox}/file/workspace/note`, { token: ALICE, body: text });
const note = async (sandbox: string) =>
  (await call('GET', `/v1/sandbox/${sandbox}/file/workspace/note`)).text;
const fork = async (body: object): Promise<Forked> => {
  const path = `/v1/sandbox/${v.run.sandboxId}/checkpoints/${checkpoint}/fork`;
  const answer = await call('POST', path, body);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json<Forked>();
};
const levelOf = async (preview: string | undefined) =>
  (await call('GET', `/v1/previews/${preview}/access`)).json<{ level: string }>().level;

beforeAll(async () => {
  v = await PreviewVisitors.start(PORT);
  await startPreview(v.porthole, v.run.runId, SECOND, ALICE);
  await put(v.run.sandboxId, 'first');
  const made = await call('POST', `/v1/sandbox/${v.run.sandboxId}/checkpoints`, {});
  checkpoint = made.json<{ id: string }>().id;
}, 60_000);
afterAll(() => v?.porthole.end());

test.each([
  ['owner', 'owner'],
  ['org', 'org'],
  ['password', 'owner'],
])(
  'opens the previews of an original at %s as %s, without its ways in',
  async (level, kept) => {
    await v.setLevel(level, level === 'password' ? { password: 'open sesame' } : {});
    const link = (await v.api('POST', '/links', { label: 'for carol', level: 'org' })).json<{ id: string }>();
    expect(link.id).toMatch(/^lnk_/);
    const { sandboxes, errors } = await fork({ count: 2, previews: true });
    expect(errors).toEqual([]);
    const urls = new Set([v.preview.preview_url]);
    for (const [index, each] of sandboxes.entries()) {
      expect(new Set(each.previews.map(({ port }) => port))).toEqual(new Set([PORT, SECOND]));
      const run = (await call('GET', `/api/runs/${each.run}`)).json();
      expect(run).toMatchObject({
        title: `${v.run.sandboxId}, fork ${index + 1}`,
        owner: 'alice',
        sandbox_id: each.id,
        sharing: 'private',
        auto_approve_tools: false,
      });
      const app = each.previews.find(({ port }) => port === PORT);
      urls.add(app?.url ?? '');
      expect(await levelOf(app?.id)).toBe(kept);
      expect(await levelOf(each.previews.find(({ port }) => port === SECOND)?.id)).toBe('link');
      expect((await call('GET', `/v1/previews/${app?.id}/links`)).json()).toEqual({ links: [] });
      // A cookie of the original does not pass.
      const cookie = await v.enter(ALICE);
      const { host } = new URL(app?.url ?? '');
      expect((await v.porthole.call('GET', '/', { host, headers: { cookie } })).text).not.toContain('"app"');
      await call('DELETE', `/v1/sandbox/${each.id}`);
    }
    expect(urls.size).toBe(3);
    await v.setLevel('owner');
  },
  60_000,
);

test('a fork has no run without previews, and says what could not be opened', async () => {
  const { sandboxes } = await fork({});
  expect(sandboxes[0]).toMatchObject({ run: null, previews: [] });
  const owner = { user: 'alice', org: 'acme' };
  const { access } = v.porthole.host.services.records;
  await access.putBlock({ owner, reason: 'a test', by: 'ada', at: new Date() });
  const blocked = await fork({ previews: true });
  await access.removeBlock(owner);
  expect(blocked.sandboxes[0]).toMatchObject({ previews: [] });
  const missing = { code: 'forbidden', sandbox: blocked.sandboxes[0]?.id };
  expect(blocked.errors).toEqual([expect.objectContaining(missing), expect.objectContaining(missing)]);
}, 60_000);

test('keeps a fork: its files and servers, with the runs and URLs of the original', async () => {
  const original = v.run.sandboxId;
  const [kept] = (await fork({})).sandboxes;
  await put(kept?.id ?? '', 'of the fork');
  await put(original, 'of the present');
  await execute(v.porthole, original, ['touch', 'only-here'], { token: ALICE });
  const argv = ['sleep', '600'];
  await call('PUT', `/v1/sandbox/${kept?.id}/servers/extra`, { argv });
  const done = await call('POST', `/v1/sandbox/${original}/keep`, { fork: kept?.id, delete: true });
  expect(done.status).toBe(200);
  expect(await note(original)).toBe('of the fork');
  expect((await call('GET', `/v1/sandbox/${original}/file/workspace/only-here`)).status).toBe(404);
  const { servers } = (await call('GET', `/v1/sandbox/${original}/servers`)).json<{
    servers: { name: string }[];
  }>();
  expect(servers.map(({ name }) => name)).toEqual(['extra', 'web']);
  expect((await call('GET', `/v1/sandbox/${kept?.id}`)).status).toBe(404);
  await call('POST', `/v1/sandbox/${original}/ports/${PORT}/wait`, { timeout_ms: 60_000 });
  expect(await v.seen({ cookie: await v.enter(ALICE) })).toBe(true);
  const { before } = done.json<{ before: { id: string } }>();
  await call('POST', `/v1/sandbox/${original}/checkpoints/${before.id}/restore`, {});
  expect(await note(original)).toBe('of the present');
}, 60_000);

test('refuses to keep what is not a fork of it', async () => {
  const other = await makeRun(v.porthole, ALICE);
  const path = `/v1/sandbox/${v.run.sandboxId}/keep`;
  for (const id of [other.sandboxId, v.run.sandboxId]) {
    const refused = await call('POST', path, { fork: id });
    expect(outcome(refused)).toEqual([400, 'invalid_request']);
    expect(refused.text).toContain(`${id} is not a fork`);
  }
  const foreign = await makeRun(v.porthole, BOB);
  expect(outcome(await call('POST', path, { fork: foreign.sandboxId }))).toEqual([404, 'sandbox_not_found']);
}, 60_000);
