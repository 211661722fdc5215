/** An admin stops the previews of one owner. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRaw } from '#test/proxy/gateway-fixture.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE } from './support/people.ts';
import { type MadeRun, makeRun, startPreview, visit } from './support/runs.ts';

const BLOCKS = '/v1/preview-blocks';
const ALICES = { user: 'alice', org: 'acme' };
const SERVER = `
require('node:http').createServer((req, res) => {
  res.write('app');
  if (req.url !== '/lasts') res.end();
}).listen(Number(process.argv[1]), '127.0.0.1')`;

let porthole: TestHost;
let alices: MadeRun;
let bobs: MadeRun;
beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
  alices = await makeRun(porthole, ALICE);
  bobs = await makeRun(porthole, BOB);
});
afterAll(() => porthole.end());

async function open({ runId, sandboxId }: MadeRun, port: number, token: string): Promise<string> {
  const body = { argv: ['node', '-e', SERVER, String(port)], port };
  await porthole.call('PUT', `/v1/sandbox/${sandboxId}/servers/web-${port}`, { body, token });
  const { session_id: session, ready } = await startPreview(porthole, runId, port, token);
  expect(ready).toBe(true);
  return session;
}
const ask = (token: string) =>
  porthole.call('POST', `/api/runs/${alices.runId}/sandbox/port-forward`, {
    body: { target_port: 3440 },
    token,
  });

test('ends the previews of the owner with their connections, and refuses new ones until it is lifted', async () => {
  const [first, second] = [await open(alices, 3440, ALICE), await open(alices, 3441, ALICE)];
  const other = await open(bobs, 3442, BOB);
  const { port } = porthole.host;
  const client = await openRaw(port);
  client.send(`GET /lasts HTTP/1.1\r\nHost: ${first}-preview.localhost:${port}\r\n\r\n`);
  await client.until('app');
  const closed = once(client.socket, 'close');
  const blocked = await porthole.call('PUT', BLOCKS, {
    body: { ...ALICES, reason: 'phishing' },
    token: ADA_ADMIN,
  });
  expect([blocked.status, blocked.json()]).toEqual([
    200,
    { ...ALICES, reason: 'phishing', blocked_by: 'ada', blocked_at: expect.any(String), stopped: 2 },
  ]);
  await closed;
  for (const session of [first, second]) expect((await visit(porthole, session, port)).status).toBe(410);
  expect((await visit(porthole, other, port)).text).toBe('app');
  for (const token of [ALICE, ADA_ADMIN, alices.agentToken]) {
    const { status, json } = await ask(token);
    expect([status, json<{ error: string }>().error]).toEqual([403, expect.not.stringContaining('phishing')]);
  }
  const { text } = await porthole.call('GET', `/api/runs/${alices.runId}/timeline`, { token: ALICE });
  expect(text).toContain('"by":"admin"');

  const query = new URLSearchParams(ALICES).toString();
  expect((await porthole.call('DELETE', `${BLOCKS}?${query}`, { token: ADA_ADMIN })).status).toBe(204);
  expect((await porthole.call('DELETE', `${BLOCKS}?${query}`, { token: ADA_ADMIN })).status).toBe(404);
  const again = await startPreview(porthole, alices.runId, 3440, ALICE);
  expect(again.session_id).not.toBe(first);
  expect((await visit(porthole, again.session_id, port)).text).toBe('app');
});

test('leaves no preview of a start that was in progress', async () => {
  const starts = [3440, 3441].map((port) =>
    porthole.call('POST', `/api/runs/${alices.runId}/sandbox/port-forward`, {
      body: { target_port: port, rotate: true },
      token: ALICE,
    }),
  );
  await porthole.call('PUT', BLOCKS, { body: ALICES, token: ADA_ADMIN });
  await Promise.all(starts);
  const list = await porthole.call('GET', `/api/runs/${alices.runId}/sandbox/port-forward`, { token: ALICE });
  expect(list.text).not.toContain('preview_url');
  const blocks = await porthole.call('GET', BLOCKS, { token: ADA_ADMIN });
  expect(blocks.json()).toEqual({ blocks: [expect.objectContaining({ ...ALICES, reason: '' })] });
});

test('counts an owner of the same name in another organisation as another', async () => {
  const body = { user: 'bob', org: 'acme' };
  const { status, json } = await porthole.call('PUT', BLOCKS, { body, token: ADA_ADMIN });
  expect([status, json<{ stopped: number }>().stopped]).toEqual([200, 0]);
});
