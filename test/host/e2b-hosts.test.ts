/** Hosts of E2B's clients: `{port}-{sandbox}.{zone}`, by E2B's SDK and by strangers. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Sandbox } from 'e2b';
import { request, type RequestOptions } from 'node:http';
import { type Answer, callBy, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { collect } from '#test/support/collect.ts';
import { ALL_ANSWER, ALL_REFUSED, PAGE_REQUESTS, statusOf } from './support/access-matrix.ts';
import type { Entry } from './support/preview-visitors.ts';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE } from './support/people.ts';
import { makeRun, stopSandbox } from './support/runs.ts';

const PORT = 3440;
const SECOND = 3441;
/** Nothing listens there. */
const UNUSED = 3449;
const HEADER = 'e2b-traffic-access-token';

/** Answers with the headers that it gets; `/events` lasts; accepts WebSockets. */
const APP = `
const { createHash } = require('node:crypto');
for (const port of process.argv.slice(1)) require('node:http').createServer((req, res) => {
  if (req.url === '/events') { res.writeHead(200, { 'content-type': 'text/event-stream' }); return res.write('data: 1\\n\\n'); }
  res.end(JSON.stringify({ app: port, url: req.url, headers: req.rawHeaders }));
}).on('upgrade', (req, socket) => {
  const accept = createHash('sha1').update(req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
}).listen(Number(port), '127.0.0.1');`;

let porthole: TestHost;
let sandbox: Sandbox;
let token: string;

const options = (apiKey: string = ALICE) => ({
  apiKey,
  apiUrl: `http://127.0.0.1:${porthole.host.port}/e2b`,
  sandboxUrl: `http://127.0.0.1:${porthole.host.port}/e2b/envd`,
});
beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
  sandbox = await create();
  token = sandbox.trafficAccessToken ?? '';
  const argv = `node -e '${APP.replaceAll("'", `'\\''`)}' ${PORT} ${SECOND}`;
  await sandbox.commands.run(argv, { background: true, timeoutMs: 0 });
  await porthole.call('POST', `/v1/sandbox/${sandbox.sandboxId}/ports/${SECOND}/wait`, {
    body: { timeout_ms: 60_000 },
    token: ALICE,
  });
}, 60_000);
afterAll(() => porthole?.end());
// Each test begins with ports that were never opened, or were closed.
beforeEach(closePorts);

async function create(key = ALICE): Promise<Sandbox> {
  return Sandbox.create({ ...options(key), timeoutMs: 600_000 });
}

async function previews() {
  const { plane } = porthole.host.services;
  return (await collect(plane.list())).filter(({ sandboxId }) => sandboxId === sandbox.sandboxId);
}

async function closePorts() {
  for (const { runId, token: session } of await previews()) {
    const path = `/api/runs/${runId}/sandbox/port-forward/${session}`;
    await porthole.call('DELETE', path, { token: ALICE });
  }
}

const connect = (to: RequestOptions) => request({ host: '127.0.0.1', port: porthole.host.port, ...to });
const get = (
  host: string,
  { path = '/', headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<Answer> => callBy(connect, 'GET', path, { host, headers });
const withToken = (value = token) => ({ headers: { [HEADER]: value } });
const appOf = ({ text }: Answer): unknown => (text.startsWith('{"app"') ? JSON.parse(text).app : undefined);
const statuses = async (host: string, more: Record<string, string>) => {
  const asked = Object.entries(PAGE_REQUESTS).map(async ([kind, { headers, ...rest }]) => [
    kind,
    await statusOf(connect({ agent: false, ...rest, headers: { host, ...headers, ...more } })),
  ]);
  return Object.fromEntries(await Promise.all(asked)) as Record<string, number>;
};

describe('a program with the token of the sandbox', () => {
  test('reaches each port, which was never opened before', async () => {
    expect(sandbox.getHost(PORT)).toBe(`${PORT}-${sandbox.sandboxId}.localhost:${porthole.host.port}`);
    for (const port of [PORT, SECOND]) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => get(sandbox.getHost(port), withToken())),
      );
      expect(answers.map(appOf)).toEqual(Array(8).fill(String(port)));
    }
    expect((await previews()).map(({ access }) => access?.level)).toEqual(['owner', 'owner']);
  });

  test('has HTTP, event streams and WebSockets, the first of which opens the port', async () => {
    expect(await statuses(sandbox.getHost(PORT), { [HEADER]: token })).toEqual(ALL_ANSWER);
  });

  test('does not show the token to the app', async () => {
    const { text } = await get(sandbox.getHost(PORT), {
      headers: { 'E2B-Traffic-Access-Token': token, e2b_traffic_access_token: token },
    });
    expect(text.toLowerCase()).not.toContain('traffic');
    expect(text).not.toContain(token);
  });

  test('has the same token after it connects again, and another in another sandbox', async () => {
    const again = await Sandbox.connect(sandbox.sandboxId, options());
    expect([again.trafficAccessToken, again.getHost(PORT)]).toEqual([token, sandbox.getHost(PORT)]);
    const info = await Sandbox.getInfo(sandbox.sandboxId, options());
    expect(info).not.toHaveProperty('trafficAccessToken');
  });

  test('learns that nothing listens', async () => {
    const answer = await get(sandbox.getHost(UNUSED), withToken());
    expect([answer.status, answer.headers['x-porthole-status']]).toEqual([502, 'nothing_listens']);
  });

  test('opens no port outside of the range of previews', async () => {
    for (const port of [22, 49_983]) {
      const answer = await get(sandbox.getHost(port), withToken());
      expect([port, answer.status]).toEqual([port, 404]);
    }
    expect(await previews()).toEqual([]);
  });
});

describe('without the token', () => {
  test.each(['before', 'after'])('no request reaches the app %s it was opened', async (when) => {
    if (when === 'after') expect(appOf(await get(sandbox.getHost(PORT), withToken()))).toBe(String(PORT));
    const other = await create(BOB);
    const { services } = porthole.host;
    const agent = (await makeRun(porthole, ALICE)).agentToken;
    for (const headers of [
      {},
      { [HEADER]: '' },
      { [HEADER]: token.slice(0, -1) },
      { [HEADER]: `${token}a` },
      { [HEADER]: token.toUpperCase() },
      { [HEADER]: other.trafficAccessToken ?? '' },
      { [HEADER]: agent },
      { [HEADER]: ALICE },
      { [HEADER]: 'ä'.repeat(16) },
      { authorization: `Bearer ${token}` },
      { authorization: `Bearer ${ALICE}` },
      { 'x-api-key': ALICE },
      { 'x-access-token': token },
      { cookie: `${HEADER}=${token}` },
    ]) {
      expect([headers, await statuses(sandbox.getHost(PORT), headers)]).toEqual([headers, ALL_REFUSED]);
    }
    for (const path of [`/?${HEADER}=${token}`, `/?token=${token}`, `/.porthole/${PORT}/`]) {
      expect((await get(sandbox.getHost(PORT), { path })).status).toBe(401);
    }
    expect(await previews()).toHaveLength(when === 'after' ? 1 : 0);
    await services.sandboxes.destroy(other.sandboxId);
  });

  test('strangers get the same answers for a sandbox that does not exist', async () => {
    await get(sandbox.getHost(PORT), withToken());
    const hosts = [sandbox.getHost(PORT), sandbox.getHost(PORT).replace(/-.{4}/, '-aaaa')];
    for (const headers of [
      {},
      { accept: 'text/html' },
      { [HEADER]: 'wrong' },
      { cookie: '__Host-porthole-view=x' },
    ]) {
      const seen = await Promise.all(
        hosts.map(async (host) => {
          const { status, text, headers: got } = await get(host, { headers });
          const { date: _date, ...rest } = got;
          const name = host.split(':')[0] ?? '';
          return JSON.parse(JSON.stringify({ status, text, rest }).replaceAll(name, 'HOST')) as unknown;
        }),
      );
      expect(seen[1]).toEqual(seen[0]);
    }
    for (const key of [undefined, BOB]) {
      const [known, unknown] = await Promise.all(hosts.map((host) => open(host, key)));
      expect({ ...known, request_id: '' }).toEqual({ ...unknown, request_id: '' });
    }
  });

  test('many wrong tokens of one address are not looked up', async () => {
    const limited = await startTestHost({
      ...PEOPLE,
      PORTHOLE_REQUEST_LIMITS: JSON.stringify({ wrong_secrets_per_minute: 3 }),
    });
    const made = await limited.call('POST', '/e2b/v2/sandboxes', {
      body: { templateID: 'base' },
      headers: { 'x-api-key': ALICE },
    });
    const { sandboxID, trafficAccessToken } = made.json<Record<string, string>>();
    const host = `${UNUSED}-${sandboxID}.localhost:${limited.host.port}`;
    const ask = async (value = '') =>
      (await limited.call('GET', '/', { host, headers: { [HEADER]: value } })).status;
    for (const wrong of ['a', 'b', 'c']) expect(await ask(wrong)).toBe(401);
    // Not even the right one opens the port now.
    expect(await ask(trafficAccessToken)).toBe(401);
    await limited.end();
  });
});

describe('the Host header', () => {
  test('is compared without case and port', async () => {
    const host = sandbox.getHost(PORT);
    for (const same of [host.toUpperCase(), host.replace(/:.*/, ''), host.replace(/:.*/, ':1')]) {
      expect([same, appOf(await get(same, withToken()))]).toEqual([same, String(PORT)]);
    }
  });

  test.each([
    ['a trailing dot', (host: string) => host.replace('.localhost', '.localhost.')],
    ['a zero before the port', (host: string) => `0${host}`],
    ['port 0', (host: string) => host.replace(/^\d+/, '0')],
    ['a port above 65535', (host: string) => host.replace(/^\d+/, '65536')],
    ['a sixth digit', (host: string) => host.replace(/^\d+/, '103440')],
    ['no port', (host: string) => host.replace(/^\d+-/, '')],
    ['two hyphens', (host: string) => host.replace('-', '--')],
    ['a label before', (host: string) => `a.${host}`],
    ['a label between', (host: string) => host.replace('.localhost', '.a.localhost')],
    ['another zone', (host: string) => host.replace('.localhost', '.localhost.example')],
    ['a zone that only ends alike', (host: string) => host.replace('.localhost', '.xlocalhost')],
    ['the name of a preview', (host: string) => host.replace('.localhost', '-preview.localhost')],
    ['punycode', (host: string) => `xn--${host}`],
    ['a wide digit', (host: string) => Buffer.from(host.replace('3', '３')).toString('latin1')],
    ['a tab', (host: string) => `${host}\t1`],
  ])('with %s leads to no port', async (_what, change) => {
    const answer = await get(change(sandbox.getHost(PORT)), withToken()).catch(String);
    if (typeof answer === 'string') return;
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).not.toContain('"app"');
  });
});

/** What the page `/open` gets for the person of this key. */
async function open(host: string, key?: string, more: object = { wake: 'opened' }) {
  const cookie =
    key === undefined
      ? undefined
      : (await porthole.call('POST', '/api/session', { body: { key } })).headers['set-cookie']?.[0]?.split(
          ';',
        )[0];
  const answer = await porthole.call('POST', '/api/open', {
    body: { preview: host.split(':')[0], ...more },
    headers: { origin: porthole.host.url, ...(cookie !== undefined && { cookie }) },
  });
  return { status: answer.status, ...answer.json<Entry>() };
}

async function enter(host: string, { ticket = '' }: { readonly ticket?: string }): Promise<string> {
  const { headers } = await callBy(connect, 'POST', '/.porthole/enter', {
    host,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ ticket, path: '/' }).toString(),
  });
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

describe('a browser', () => {
  test('is sent to the page at which its person signs in', async () => {
    const answer = await get(sandbox.getHost(PORT), { path: '/a?b', headers: { accept: 'text/html' } });
    const to = new URL(answer.headers.location ?? '');
    expect([answer.status, to.pathname, to.searchParams.get('preview'), to.hash]).toEqual([
      303,
      '/open',
      sandbox.getHost(PORT).split(':')[0],
      `#path=${encodeURIComponent('/a?b')}`,
    ]);
  });

  test('of the owner opens a port after a press, and stays at the host', async () => {
    const host = sandbox.getHost(PORT);
    // Anyone can lead the owner there.
    expect(await open(host, ALICE)).toEqual({ status: 200, needs: 'wake' });
    expect(await open(host, ALICE, {})).toMatchObject({ status: 403 });
    expect(await previews()).toEqual([]);
    const entry = await open(host, ALICE, { wake: 'pressed' });
    expect(entry).toMatchObject({ url: `http://${host}`, enter_url: `http://${host}/.porthole/enter` });
    const cookie = await enter(host, entry);
    expect(await statuses(host, { cookie })).toEqual(ALL_ANSWER);
    // A press is needed once.
    expect(await open(host, ALICE)).toMatchObject({ url: `http://${host}` });
    // The visit is for this port.
    expect((await get(sandbox.getHost(SECOND), { headers: { cookie } })).status).toBe(401);
  });

  test.each([
    ['a stranger', BOB, 403],
    ['a colleague', CAROL, 403],
    ['no one', undefined, 200],
  ])('of %s opens none', async (_who, key, status) => {
    for (const more of [{}, { wake: 'opened' }, { wake: 'pressed' }]) {
      const answer = await open(sandbox.getHost(PORT), key, more);
      expect(answer).not.toHaveProperty('ticket');
      if (!('wake' in more) && key === undefined) continue;
      expect(answer.status).toBe(status);
    }
    expect(await previews()).toEqual([]);
  });

  test('of an admin opens one', async () => {
    expect(await open(sandbox.getHost(PORT), ADA_ADMIN, { wake: 'pressed' })).toHaveProperty('ticket');
  });
});

describe('the level that the owner sets', () => {
  const setLevel = async (body: object) => {
    const [preview] = await previews();
    const path = `/v1/previews/${preview?.token ?? ''}/access`;
    expect((await porthole.call('PUT', path, { body, token: ALICE })).status).toBe(200);
  };

  test('holds, and lets colleagues in', async () => {
    const host = sandbox.getHost(PORT);
    await get(host, withToken());
    expect((await open(host, CAROL)).status).toBe(403);
    await setLevel({ level: 'org' });
    const cookie = await enter(host, await open(host, CAROL));
    expect(appOf(await get(host, { headers: { cookie } }))).toBe(String(PORT));
    expect((await open(host, BOB)).status).toBe(403);
    expect(appOf(await get(host, withToken()))).toBe(String(PORT));
  });

  test('is set before the port is first opened', async () => {
    const fresh = await create();
    const path = (port: number) => `/v1/previews/${port}-${fresh.sandboxId}/access`;
    const set = (key: string, port = UNUSED) =>
      porthole.call('PUT', path(port), { body: { level: 'org' }, token: key });
    expect([(await set(BOB)).status, (await set(CAROL)).status, (await set(ALICE)).status]).toEqual([
      404, 404, 200,
    ]);
    expect((await set(ALICE, 22)).status).toBe(400);
    const read = await porthole.call('GET', path(UNUSED), { token: ALICE });
    expect(read.json()).toMatchObject({ level: 'org' });
    const host = fresh.getHost(UNUSED);
    await get(host, withToken(fresh.trafficAccessToken));
    expect(await open(host, CAROL)).toHaveProperty('ticket');
    await fresh.kill();
  });

  test('does not open the host to everyone: it can be guessed', async () => {
    const host = sandbox.getHost(PORT);
    await get(host, withToken());
    await setLevel({ level: 'link' });
    expect(await statuses(host, {})).toEqual(ALL_REFUSED);
    expect((await open(host, BOB)).status).toBe(403);
    expect(appOf(await get(host, withToken()))).toBe(String(PORT));
    // The URL that cannot be guessed is open then, and the owner is led there.
    const { url = '' } = await open(host, ALICE);
    expect(appOf(await get(new URL(url).host))).toBe(String(PORT));
  });
});

const REFUSED = [401, 403, 404];

test('an agent opens no port by it, and reaches none that it did not ask for', async () => {
  const asAgent = { token: (await makeRun(porthole, ALICE, { sandbox_id: sandbox.sandboxId })).agentToken };
  const { sandboxId } = sandbox;
  for (const [method, path, body] of [
    ['POST', `/e2b/v2/sandboxes/${sandboxId}/connect`, {}],
    ['POST', '/e2b/v2/sandboxes', { templateID: 'base' }],
    ['GET', `/e2b/sandboxes/${sandboxId}`, undefined],
    ['POST', `/v1/sandbox/${sandboxId}/tunnel/${PORT}`, {}],
  ] as const) {
    const answer = await porthole.call(method, path, { body, ...asAgent });
    expect([path, REFUSED.includes(answer.status)]).toEqual([path, true]);
    expect(answer.text).not.toContain(token);
  }
  // Nor by the token of the sandbox, which its agent may have.
  const envd = { 'x-access-token': await envdToken(), 'e2b-sandbox-id': sandboxId };
  const host = sandbox.getHost(PORT);
  for (const headers of [envd, { [HEADER]: envd['x-access-token'] }, { [HEADER]: asAgent.token }]) {
    expect((await get(host, { headers })).status).toBe(401);
  }
  expect(await previews()).toEqual([]);
  // Once it is open, an agent gets no pass for it either.
  await get(host, withToken());
  const [preview] = await previews();
  for (const [method, path] of [
    ['POST', `/v1/previews/${preview?.token ?? ''}/pass`],
    ['PUT', `/v1/previews/${preview?.token ?? ''}/access`],
  ] as const) {
    const answer = await porthole.call(method, path, { body: { level: 'link' }, ...asAgent });
    expect([path, REFUSED.includes(answer.status)]).toEqual([path, true]);
  }
});

async function envdToken(): Promise<string> {
  const answer = await porthole.call('POST', `/e2b/v2/sandboxes/${sandbox.sandboxId}/connect`, {
    body: {},
    headers: { 'x-api-key': ALICE },
  });
  return answer.json<{ envdAccessToken: string }>().envdAccessToken;
}

describe('a sandbox that does not run', () => {
  test('is not started by a program, and is by its owner', async () => {
    const stopped = await create();
    const [host, headers] = [stopped.getHost(UNUSED), { [HEADER]: stopped.trafficAccessToken ?? '' }];
    // Neither with a preview nor without one.
    expect((await get(host, { headers })).headers['x-porthole-status']).toBe('nothing_listens');
    await stopSandbox(porthole, stopped.sandboxId);
    for (const at of [host, stopped.getHost(PORT)]) {
      const answer = await get(at, { headers });
      expect([at, answer.status, answer.headers['x-porthole-status']]).toEqual([at, 503, 'sandbox_stopped']);
    }
    const opened = await get(host, { headers: { ...headers, 'sec-fetch-mode': 'navigate' } });
    expect([opened.status, opened.headers.location]).toEqual([303, expect.stringContaining('/open?')]);
    const record = () => porthole.host.services.records.sandboxes.get(stopped.sandboxId);
    expect((await record())?.desired).toBe('stopped');
    expect(await open(host, BOB, { wake: 'pressed' })).toMatchObject({ status: 403 });
    expect((await record())?.desired).toBe('stopped');
    await open(host, ALICE, { wake: 'pressed' });
    expect((await record())?.desired).toBe('running');
  });

  test('has no token any more once it is killed', async () => {
    const killed = await create();
    const [host, headers] = [killed.getHost(UNUSED), { [HEADER]: killed.trafficAccessToken ?? '' }];
    expect((await get(host, { headers })).status).toBe(502);
    await killed.kill();
    expect((await get(host, { headers })).status).toBe(401);
  });
});

describe('the hosts of the API', () => {
  const below = (host: string) => `${host}.localhost:${porthole.host.port}`;

  test('lead to it', async () => {
    const path = `/sandboxes/${sandbox.sandboxId}`;
    const api = await get(below('api'), { path, headers: { 'x-api-key': ALICE } });
    expect(api.json()).toMatchObject({ sandboxID: sandbox.sandboxId, domain: below('').slice(1) });
    const health = await get(sandbox.getHost(49_983), {
      path: '/health',
      // The host names the sandbox.
      headers: { 'x-access-token': await envdToken(), 'e2b-sandbox-id': 'other' },
    });
    expect(health.status).toBe(204);
  });

  test('serve a URL that the SDK has signed', async () => {
    await sandbox.files.write('signed.txt', 'signed');
    const byDomain = await Sandbox.connect(sandbox.sandboxId, { ...options(), sandboxUrl: '' });
    const url = new URL(await byDomain.downloadUrl('signed.txt'));
    expect(url.host).toBe(sandbox.getHost(49_983));
    expect((await get(url.host, { path: url.pathname + url.search })).text).toBe('signed');
    url.searchParams.set('path', 'other.txt');
    expect((await get(url.host, { path: url.pathname + url.search })).status).toBe(401);
  });

  test('lead to no other part of it, and to no sandbox of another', async () => {
    const headers = { 'x-api-key': ALICE, authorization: `Bearer ${ALICE}` };
    for (const path of ['/api/runs', '/v1/sandbox', '/../v1/sandbox', '//v1/sandbox', '/', '/open']) {
      expect([path, (await get(below('api'), { path, headers })).status]).toEqual([path, 404]);
    }
    const other = await create(BOB);
    const health = await get(other.getHost(49_983), {
      path: '/health',
      headers: { 'x-access-token': await envdToken(), 'e2b-sandbox-id': sandbox.sandboxId },
    });
    expect(health.status).toBe(403);
    const origin = await get(below('api'), {
      path: '/sandboxes',
      headers: { ...headers, origin: 'http://evil.example' },
    });
    expect(origin.status).toBe(403);
  });
});

test('a client that wants public ports gets them for their owner', async () => {
  const asked = await Sandbox.create({ ...options(), network: { allowPublicTraffic: true } });
  const host = asked.getHost(UNUSED);
  expect((await get(host)).status).toBe(401);
  expect((await get(host, withToken(asked.trafficAccessToken))).status).toBe(502);
  await asked.kill();
});

test('says so where previews have no hosts', async () => {
  const loopback = await startTestHost({ ...PEOPLE, Sandbox__Preview__Enabled: 'false' });
  const make = async (rest: object) =>
    loopback.call('POST', '/e2b/v2/sandboxes', {
      body: { templateID: 'base', ...rest },
      headers: { 'x-api-key': ALICE },
    });
  const made = (await make({})).json();
  // The code interpreter takes the token where ports have no hosts, too.
  expect([made['domain'], made['trafficAccessToken']]).toEqual([
    null,
    expect.stringMatching(/^[a-z2-7]{32}$/),
  ]);
  const refused = await make({ network: { allowPublicTraffic: true } });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('open a preview')]);
  await loopback.end();
});

test('does not exist without the feature', async () => {
  const off = await startTestHost({ ...PEOPLE, PORTHOLE_FEATURES_OFF: 'e2b' });
  for (const host of ['api', `${PORT}-${sandbox.sandboxId}`, `49983-${sandbox.sandboxId}`]) {
    const answer = await off.call('GET', '/health', { host: `${host}.localhost:${off.host.port}` });
    expect([host, answer.status]).toEqual([host, 403]);
  }
  await off.end();
});
