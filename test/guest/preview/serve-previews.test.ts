import { once } from 'node:events';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type OpenPreviewRequest,
  type OpenPreviewsAnswer,
  openPreviewsAnswer,
} from '#protocol/guest/previews-protocol.ts';
import { fetchRaw, freePort, openRaw } from '#test/proxy/gateway-fixture.ts';
import { usageTotal } from '#protocol/guest/usage-protocol.ts';
import { GuestProcess } from '../support/guest-process.ts';

const CONSOLE = 'https://console.example.test';

let guest: GuestProcess;
let port: number;
/** Unique per test. */
let publicHost: string;
let appPort: number;
let app: Server | undefined;

beforeAll(async () => {
  port = await freePort();
  guest = await GuestProcess.start({ previews: { port } });
  await guest.client.health();
});
afterAll(() => guest.stop());
beforeEach(async () => {
  appPort = await freePort();
  publicHost = `calm-${appPort}-preview.preview.test`;
});
afterEach(async () => {
  app?.closeAllConnections();
  app?.close();
  app = undefined;
  await call('DELETE', `/v1/previews/${appPort}?host=${publicHost}`).catch(() => undefined);
});

async function listens(host: string, listener: RequestListener): Promise<void> {
  app = createServer(listener).listen(appPort, host);
  await once(app, 'listening');
}

function call(method: string, path: string, body?: Partial<OpenPreviewRequest>): Promise<OpenPreviewsAnswer> {
  return guest.client.json(method, path, openPreviewsAnswer, body === undefined ? {} : { body });
}

const open = (change: Partial<OpenPreviewRequest> = {}) =>
  call('PUT', `/v1/previews/${appPort}`, {
    host: publicHost,
    run: 'run_1',
    expires_at: new Date(Date.now() + 60_000).toISOString(),
    frame_ancestors: [CONSOLE],
    ...change,
  });

/** A request as a gateway sends it after the route has set the port. */
const get = (path = '/', headers: Record<string, string> = {}, host = publicHost) =>
  fetchRaw(port, host, path, { 'X-Porthole-Port': String(appPort), ...headers });

/** The status, and which of our pages answered; `app` for none. */
async function seen(headers: Record<string, string> = {}, host = publicHost): Promise<string> {
  const answer = await get('/', headers, host);
  return `${answer.status} ${answer.headers['x-porthole-status'] ?? 'app'}`;
}

describe('the guest', () => {
  test('serves nothing that was not opened', async () => {
    await listens('127.0.0.1', (_, res) => res.end('secret'));
    expect(await seen()).toBe('404 unknown');
    await open();
    expect(await seen()).toBe('200 app');
    expect(await seen({}, 'other-preview.preview.test')).toBe('404 unknown');
    expect(await seen({ 'X-Porthole-Port': String(port) })).toBe('404 unknown');
    expect(await seen({ 'X-Porthole-Port': `${appPort}, ${appPort}` })).toBe('404 unknown');
    expect((await fetchRaw(port, publicHost)).status).toBe(404);
  });

  test.each(['127.0.0.1', '::1', '0.0.0.0', '::'])('reaches a server on %s', async (host) => {
    await open();
    expect(await seen()).toBe('502 nothing_listens');
    await listens(host, (_, res) => res.end('here'));
    expect((await get()).body).toBe('here');
  });

  test('shows pages of ours for people', async () => {
    await open();
    const page = await get('/', { Accept: 'text/html' });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.body).toContain(`Nothing listens on port ${appPort} yet`);
  });

  test('says so once a preview is stopped or expired', async () => {
    await listens('127.0.0.1', (_, res) => res.end());
    await open({ expires_at: new Date(Date.now() - 1).toISOString() });
    expect(await seen()).toBe('410 expired');
    await open();
    expect(await seen()).toBe('200 app');
    expect((await call('DELETE', `/v1/previews/${appPort}?host=${publicHost}`)).previews).toEqual([]);
    expect(await seen()).toBe('410 stopped');
    await expect(call('DELETE', `/v1/previews/${appPort}?host=${publicHost}`)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('ends what visitors have open with their preview', async () => {
    await listens('127.0.0.1', (_, res) => void res.writeHead(200).write('begun'));
    await open();
    const visitor = await openRaw(port);
    visitor.send(`GET / HTTP/1.1\r\nHost: ${publicHost}\r\nX-Porthole-Port: ${appPort}\r\n\r\n`);
    await visitor.until('begun');
    await call('DELETE', `/v1/previews/${appPort}?host=${publicHost}`);
    await visitor.closed;
  });

  test('knows when an app was last used and by how many bytes; its own pages are no use', async () => {
    await open();
    await get();
    expect((await call('GET', '/v1/previews')).previews).toEqual([
      { port: appPort, host: publicHost, idle_ms: null, bytes_in: 0, bytes_out: 0 },
    ]);
    const total = async () => guest.client.json('GET', '/v1/usage/total', usageTotal);
    const before = await total();
    await listens('127.0.0.1', (_, res) => res.end('twelve bytes'));
    await get();
    const [usage] = (await call('GET', '/v1/previews')).previews;
    expect(usage).toMatchObject({ bytes_in: 0, bytes_out: 12 });
    expect((await total()).preview_bytes).toBe((before.preview_bytes ?? 0) + 12);
    expect(usage?.idle_ms).toBeLessThan(5_000);
  });

  test('lets only the console show an app that forbids frames', async () => {
    await listens('127.0.0.1', (_, res) => res.setHeader('X-Frame-Options', 'DENY').end());
    await open();
    const { headers } = await get();
    expect(headers['content-security-policy']).toBe(`frame-ancestors ${CONSOLE}`);
    expect(headers).not.toHaveProperty('x-frame-options');
  });

  test('removes cookies that are too large, and no others', async () => {
    await listens('127.0.0.1', (_, res) => res.end('the app'));
    await open();
    const large = 'x'.repeat(33_000);
    const { status, headers } = await get('/', { accept: 'text/html', cookie: `a=${large}` });
    expect([status, headers['x-porthole-status'], headers['clear-site-data']]).toEqual([
      431,
      'cookies_too_large',
      '"cookies"',
    ]);
    const other = await get('/', { accept: 'text/html', 'x-large': large });
    expect([other.status, other.headers['clear-site-data']]).toEqual([431, undefined]);
    expect(await seen()).toBe('200 app');
  });

  test('tells the app the visitor’s address, and takes the public host from its opening alone', async () => {
    await listens('127.0.0.1', (req, res) => res.end(JSON.stringify(req.headers)));
    await open({ host: `${publicHost}:8443` });
    const { body } = await get('/', { 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Host': 'evil.test' });
    expect(JSON.parse(body)).toMatchObject({
      host: `localhost:${appPort}`,
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-host': `${publicHost}:8443`,
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '8443',
    });
    expect(JSON.parse(body)).not.toHaveProperty('x-porthole-port');
  });

  test('serves what was open after it is killed and started again', async () => {
    await listens('127.0.0.1', (_, res) => res.end());
    await open();
    await guest.kill();
    await guest.start();
    await guest.client.health();
    expect(await seen()).toBe('200 app');
  });

  test.each([
    ['no JSON', 'previews'],
    ['another shape', '[{"port":"3000"}]'],
  ])('starts with a file of previews that is %s', async (_, text) => {
    const file = join(guest.workspace, '.porthole', 'previews.json');
    await open();
    expect(JSON.parse(readFileSync(file, 'utf8'))).toContainEqual(
      expect.objectContaining({ port: appPort, closed: false }),
    );
    await guest.kill();
    writeFileSync(file, text);
    await guest.start();
    expect((await call('GET', '/v1/previews')).previews).toEqual([]);
    expect((await open()).previews).toHaveLength(1);
  });

  test.each<[string, (file: string) => void]>([
    ['a FIFO', (file) => execFileSync('mkfifo', [file])],
    ['a link', (file) => symlinkSync('/dev/zero', file)],
    ['a folder', (file) => mkdirSync(file)],
  ])('starts, and opens previews, where %s is in the place of its file', async (_, make) => {
    const file = join(guest.workspace, '.porthole', 'previews.json');
    mkdirSync(join(guest.workspace, '.porthole'), { recursive: true });
    await guest.kill();
    for (const each of [file, `${file}.new`]) {
      rmSync(each, { force: true });
      make(each);
    }
    await guest.start();
    expect((await open()).previews).toHaveLength(1);
    rmSync(join(guest.workspace, '.porthole'), { recursive: true });
  });

  test('runs commands where its port for previews is taken', async () => {
    await guest.kill();
    const taken = createServer().listen(port);
    await once(taken, 'listening');
    await guest.start();
    expect(await guest.client.health()).toMatchObject({ protocol: 1 });
    taken.close();
    await guest.kill();
    await guest.start();
    await guest.client.health();
  });

  test.each<[string, Partial<OpenPreviewRequest>]>([
    ['a host in capitals', { host: 'Calm.preview.test' }],
    ['a host with a path', { host: 'calm.preview.test/x' }],
    ['a time that is none', { expires_at: 'tomorrow' }],
    ['an ancestor that is no origin', { frame_ancestors: ["https://a.test; script-src 'self'"] }],
  ])('refuses %s', async (_, change) => {
    await expect(open(change)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('refuses to be its own app', async () => {
    await expect(
      call('PUT', `/v1/previews/${port}`, {
        host: publicHost,
        run: 'r',
        expires_at: new Date().toISOString(),
        frame_ancestors: [],
      }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

test('gives an app that restarts 1,000 times on 127.0.0.1, ::1 and 0.0.0.0 its port every time', async () => {
  await open();
  const hosts = ['127.0.0.1', '::1', '0.0.0.0'];
  let wrong = 0;
  for (let start = 0; start < 1_000; start += 1) {
    await listens(hosts[start % 3] as string, (_, res) => res.end(String(start)));
    // A continuous stream of visitors, one of which stays connected.
    if (start % 10 === 0 && (await get()).body !== String(start)) wrong += 1;
    app?.closeAllConnections();
    app?.close();
    await once(app as Server, 'close');
    if (start % 100 === 0) expect(await seen()).toBe('502 nothing_listens');
  }
  expect(wrong).toBe(0);
});
