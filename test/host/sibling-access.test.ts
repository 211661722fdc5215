/** Who may reach the port of another preview of the run, below a preview's host. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRaw } from '#test/proxy/gateway-fixture.ts';
import { ALICE, BOB, CAROL } from './support/people.ts';
import { PreviewVisitors } from './support/preview-visitors.ts';
import { startPreview } from './support/runs.ts';

const [PAGE, API] = [3424, 3425];
const BELOW = `/.porthole/${API}`;
const API_SERVER = `
require('node:http').createServer((req, res) => {
  if (req.url !== '/events') return res.end(JSON.stringify({ api: req.url, headers: req.headers }));
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write('data: first\\n\\n');
}).listen(${API}, '127.0.0.1')`;

let v: PreviewVisitors;
let api: string;
beforeAll(async () => {
  v = await PreviewVisitors.start(PAGE);
  const body = { argv: ['node', '-e', API_SERVER], port: API };
  await v.porthole.call('PUT', `/v1/sandbox/${v.run.sandboxId}/servers/api`, { body, token: ALICE });
  api = (await startPreview(v.porthole, v.run.runId, API, ALICE)).session_id;
});
afterAll(() => v.porthole.end());

async function setLevels(page: string, sibling: string): Promise<void> {
  await v.setLevel(page);
  const body = { level: sibling, ...(sibling === 'password' && { password: 'open sesame' }) };
  await v.porthole.call('PUT', `/v1/previews/${api}/access`, { body, token: ALICE });
}

const reached = async (headers: Record<string, string> = {}): Promise<boolean> => {
  const { status, text, headers: answered } = await v.get(`${BELOW}/items`, headers);
  if (text.includes('"api":"/items"')) return true;
  expect([status, answered['x-porthole-status']]).toEqual([404, 'not_open']);
  return false;
};

test.each([
  ['link', 'link', true],
  ['link', 'signed_in', false],
  ['link', 'owner', false],
])(
  'lets everyone reach the port with the page at %s and the port at %s: %s',
  async (page, sibling, expected) => {
    await setLevels(page, sibling);
    expect(await reached()).toBe(expected);
    expect((await v.get(`${BELOW}/`, { cookie: '__Host-porthole-view=forged' })).status).toBe(
      expected ? 200 : 404,
    );
  },
);

test.each([
  ['alice, the owner', ALICE, ['link', 'password', 'signed_in', 'org', 'owner']],
  ['carol, of the organisation', CAROL, ['link', 'signed_in', 'org']],
])('lets %s reach it by the same rule as the page', async (_, key, expected) => {
  const open: string[] = [];
  for (const level of ['link', 'password', 'signed_in', 'org', 'owner']) {
    await setLevels('org', level);
    if (await reached({ cookie: await v.enter(key) })) open.push(level);
  }
  expect(open).toEqual(expected);
});

test('lets visitors by a link reach only what is open to everyone', async () => {
  await setLevels('owner', 'owner');
  const { url } = (await v.api('POST', '/links', { label: 'for bob' })).json<{ url: string }>();
  const [id, secret] = new URL(url).hash.slice(1).split('.');
  const cookie = await v.enter(BOB, { link: id, secret });
  expect(await v.seen({ cookie })).toBe(true);
  expect(await reached({ cookie })).toBe(false);
  await setLevels('owner', 'link');
  const again = await v.enter(BOB, { link: id, secret });
  expect(await reached({ cookie: again })).toBe(true);
});

test('names the visitor to the app of the port, and keeps the cookie of the visit from it', async () => {
  await setLevels('org', 'org');
  const { text } = await v.get(`${BELOW}/`, { cookie: `a=b; ${await v.enter(CAROL)}` });
  const { headers } = JSON.parse(text) as { headers: Record<string, string> };
  const [, claims = ''] = String(headers['x-porthole-viewer']).split('.');
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    sub: 'carol',
    aud: v.host,
  });
  expect(headers['cookie']).toBe('a=b');
});

test('sends a person without a visit to the sign-in, and back to the port', async () => {
  await setLevels('owner', 'owner');
  const { status, headers } = await v.get(`${BELOW}/items?a`, { accept: 'text/html' });
  expect([status, headers.location]).toEqual([303, expect.stringContaining('/open?preview=')]);
  expect(new URL(String(headers.location)).hash).toBe(`#path=${encodeURIComponent(`${BELOW}/items?a`)}`);
  const { entry } = await v.open(ALICE);
  expect((await v.post(entry.ticket ?? '', `${BELOW}/items?a`)).headers.location).toBe(`${BELOW}/items?a`);
});

test.each([
  ['the page', 'owner', 'link'],
  ['the port', 'link', 'owner'],
])('ends streams of the port when %s is limited', async (_, page, sibling) => {
  await setLevels('link', 'link');
  const client = await openRaw(v.porthole.host.port);
  client.send(`GET ${BELOW}/events HTTP/1.1\r\nHost: ${v.host}\r\n\r\n`);
  await client.until('data: first');
  const closed = once(client.socket, 'close');
  await setLevels(page, sibling);
  await closed;
});
