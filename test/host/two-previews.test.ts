/** A front end and its API in one sandbox, each with a preview: as two ports of localhost. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { fetchRaw } from '#test/proxy/gateway-fixture.ts';
import { type MadeRun, makeRun } from './support/runs.ts';

/** Answers as a server that allows the page of `http://localhost:3400` and sends it to 3400 and 3401. */
const API = `
require('http').createServer((req, res) => {
  const seen = String(req.headers.origin);
  const isAllowed = [undefined, 'http://localhost:3400'].includes(req.headers.origin);
  res.writeHead(isAllowed ? 200 : 403, {
    'Access-Control-Allow-Origin': 'http://localhost:3400',
    'Content-Length': seen.length,
    'Access-Control-Allow-Credentials': 'true',
    Location: 'http://localhost:' + req.url.slice(1) + '/login?next=/',
    Refresh: '5; url=http://127.0.0.1:' + req.url.slice(1) + '/',
  });
  res.end(seen);
}).listen(Number(process.argv[1]), '127.0.0.1')`;

let porthole: TestHost;
let run: MadeRun;
let page: URL;
let api: URL;
beforeAll(async () => {
  porthole = await startTestHost();
  run = await makeRun(porthole, undefined, { auto_approve_tools: true });
  [page, api] = [await open(run, 3400), await open(run, 3401)];
});
afterAll(() => porthole.end());

async function open({ runId, sandboxId }: MadeRun, port: number): Promise<URL> {
  const body = { argv: ['node', '-e', API, String(port)], port };
  await porthole.call('PUT', `/v1/sandbox/${sandboxId}/servers/web-${port}`, { body });
  const started = await porthole.call('POST', `/api/runs/${runId}/sandbox/port-forward`, {
    body: { target_port: port },
  });
  const { preview_url, ready } = started.json<{ preview_url: string; ready: boolean }>();
  expect(ready).toBe(true);
  return new URL(preview_url);
}

const ask = (at: URL, port: number, headers: Record<string, string> = {}, method = 'GET') =>
  fetchRaw(Number(at.port), at.host, `/${port}`, headers, method);

test('answers the page of the other preview as on localhost', async () => {
  for (const [method, extra] of [
    ['GET', {}],
    ['POST', {}],
    ['OPTIONS', { 'Access-Control-Request-Method': 'POST' }],
  ] as const) {
    const answer = await ask(api, 3400, { Origin: page.origin, ...extra }, method);
    expect([answer.status, answer.body]).toEqual([200, 'http://localhost:3400']);
    expect(answer.headers['access-control-allow-origin']).toBe(page.origin);
  }
});

test('leads from one preview to the other', async () => {
  const { headers } = await ask(api, 3400);
  expect(headers['location']).toBe(`${page.origin}/login?next=/`);
  expect(headers['refresh']).toBe(`5; url=${page.origin}/`);
});

test('maps nothing of another run, and no port without a preview', async () => {
  const other = await makeRun(porthole, undefined, { auto_approve_tools: true });
  const foreign = await open(other, 3402);
  const answer = await ask(api, 3402, { Origin: foreign.origin });
  expect([answer.status, answer.body]).toEqual([403, foreign.origin]);
  expect(answer.headers['location']).toBe('http://localhost:3402/login?next=/');
  expect((await ask(api, 3403)).headers['location']).toBe('http://localhost:3403/login?next=/');
  // Its own port 3400 has no preview there.
  expect((await ask(foreign, 3400)).headers['access-control-allow-origin']).toBe('http://localhost:3400');
});

test('maps a sibling only while it is live', async () => {
  const token = page.hostname.split('-preview.')[0];
  await porthole.call('DELETE', `/api/runs/${run.runId}/sandbox/port-forward/${token}`);
  const answer = await ask(api, 3400, { Origin: page.origin });
  expect([answer.status, answer.body]).toEqual([403, page.origin]);
  expect(answer.headers['location']).toBe('http://localhost:3400/login?next=/');
});
