/** Who may open a preview, seen by a browser: sign-in, links, frames and revocation. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ALICE, BOB, CAROL, PEOPLE } from '#test/host/support/people.ts';
import { suite } from '#test/support/suite.ts';
import { type MadeRun, makeRun, type StartedPreview, startPreview } from '#test/host/support/runs.ts';
import { ensureConsoleBuilt } from './support/console-fixture.ts';

/** A page with a module, a fetch with and without credentials, a POST, events, and a WebSocket. */
const APP = `
const { createHash } = require('node:crypto');
const page = \`<!doctype html><title>Shop</title><h1>loading</h1><script type="module">
import '/module.js';
const text = async (init) => (await fetch('/data', init)).text();
const socket = new WebSocket('ws' + location.origin.slice(4) + '/live');
const opened = new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
socket.onclose = () => { document.title = 'socket closed'; };
const events = new EventSource('/events');
const first = new Promise((resolve) => { events.onmessage = ({ data }) => resolve(data); });
const registered = await navigator.serviceWorker.register('/worker.js').then(() => 'worker', String);
const answers = [globalThis.module, await text(), await text({ credentials: 'include' }), await text({ method: 'POST', body: 'x' }), await first, await opened.then(() => 'socket'), registered];
document.querySelector('h1').textContent = answers.join(' ');
</script>\`;
const types = { '/module.js': 'text/javascript', '/worker.js': 'text/javascript', '/data': 'text/plain' };
require('node:http').createServer((req, res) => {
  if (req.url === '/events') { res.writeHead(200, { 'content-type': 'text/event-stream' }); return res.write('data: event\\n\\n'); }
  const body = { '/module.js': 'globalThis.module = "module"', '/worker.js': 'self.oninstall = () => self.skipWaiting()', '/data': req.method }[req.url];
  res.writeHead(200, { 'content-type': types[req.url] ?? 'text/html' });
  res.end(body ?? page);
}).on('upgrade', (req, socket) => {
  const accept = createHash('sha1').update(req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
}).listen(3412, '127.0.0.1');`;
const ALL = 'module GET GET POST event socket worker';

suite('access to a preview, in a browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let run: MadeRun;
  let preview: StartedPreview;
  let page: Page;
  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(PEOPLE), launchChromium()]);
    run = await makeRun(porthole, ALICE);
    const body = { argv: ['node', '-e', APP], port: 3412 };
    await porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/web`, { body, token: ALICE });
    preview = await startPreview(porthole, run.runId, 3412, ALICE);
    expect(preview.ready).toBe(true);
  });
  afterAll(async () => {
    await browser.close();
    await porthole.end();
  });
  beforeEach(async () => {
    for (const context of browser.contexts()) await context.close();
    page = await (await browser.newContext()).newPage();
  });

  const call = (method: string, path: string, body?: unknown) =>
    porthole.call(method, `/v1/previews/${preview.session_id}${path}`, { token: ALICE, body });
  const url = (path = '/') => new URL(path, preview.preview_url ?? '').href;

  async function signIn(key: string): Promise<void> {
    await page.getByPlaceholder('Your key').fill(key);
    await page.getByRole('button', { name: 'Sign in with a key' }).click();
  }

  async function seesAll(): Promise<void> {
    await page.getByRole('heading', { name: ALL }).waitFor();
  }

  test('loses cookies of the app that are too large, and shows the app again', async () => {
    await call('PUT', '/access', { level: 'link' });
    await page.goto(url());
    await seesAll();
    await page.evaluate(
      `for (let at = 0; at < 12; at += 1) document.cookie = 'large-' + at + '=' + 'x'.repeat(4000)`,
    );
    const refused = await page.goto(url());
    expect(refused?.status()).toBe(431);
    await page.getByRole('heading', { name: 'This browser sends too many cookies' }).waitFor();
    await page.reload();
    await seesAll();
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  test('sends the owner through the sign-in to the page that was asked for', async () => {
    await call('PUT', '/access', { level: 'owner' });
    await page.goto(url('/?a=b&c=d'));
    await signIn(ALICE);
    await seesAll();
    expect(page.url()).toBe(url('/?a=b&c=d'));
    expect(await page.evaluate('document.referrer')).toBe('');
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  test('lets the owner open the port of a sandbox by a press, at the host of the port', async () => {
    const host = `http://3412-${run.sandboxId}.localhost:${porthole.host.port}`;
    await page.goto(`${host}/?a=b`);
    await signIn(ALICE);
    await page.getByRole('button', { name: 'Start the preview' }).click();
    await seesAll();
    expect(page.url()).toBe(`${host}/?a=b`);
    await page.reload();
    await seesAll();
  });

  test.each([
    ['org', CAROL, true],
    ['org', BOB, false],
    ['signed_in', BOB, true],
  ] as const)('at %s, the person of key %s enters: %s', async (level, key, enters) => {
    await call('PUT', '/access', { level });
    await page.goto(url());
    await signIn(key);
    if (enters) return seesAll();
    await page.getByRole('heading', { name: 'You cannot open this preview' }).waitFor();
  });

  test('asks for the password until it is right', async () => {
    await call('PUT', '/access', { level: 'password', password: 'open sesame' });
    await page.goto(url());
    await page.getByPlaceholder('Password').fill('close sesame');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('heading', { name: 'That password is not valid' }).waitFor();
    await page.getByPlaceholder('Password').fill('open sesame');
    await page.getByRole('button', { name: 'Open' }).click();
    await seesAll();
  });

  test.each(['//127.0.0.2/', '/\\127.0.0.2/', 'http://127.0.0.2/', 'javascript:alert(1)', 'http://'])(
    'leads to the preview alone, also with the path %s',
    async (path) => {
      await call('PUT', '/access', { level: 'link' });
      await page.goto(
        `${porthole.host.url}/open?preview=${preview.session_id}#path=${encodeURIComponent(path)}`,
      );
      await seesAll();
      expect(page.url()).toBe(url());
    },
  );

  test('opens a link without a sign-in, and ends its pages when it is revoked', async () => {
    await call('PUT', '/access', { level: 'owner' });
    const link = (await call('POST', '/links', { label: 'for dave' })).json<{ id: string; url: string }>();
    await page.goto(link.url);
    await seesAll();
    expect(page.url()).toBe(url());
    await page.goBack();
    expect(page.url()).not.toContain('#');
    await page.goto(url());
    await seesAll();
    await call('DELETE', `/links/${link.id}`);
    await page.waitForFunction("document.title === 'socket closed'", undefined, { timeout: 1_000 });
    await page.goto(url());
    await page.getByRole('heading', { name: 'You cannot open this preview' }).waitFor();
  });

  const named = (path = '/') => url(path).replace(preview.session_id, 'shop-demo');

  test('asks at a name for a sign-in or the password, also if no preview has it', async () => {
    await call('PUT', '/access', { level: 'password', password: 'open sesame', name: 'shop-demo' });
    for (const at of [named().replace('demo', 'domo'), named('/?a=b')]) {
      await page.goto(at);
      await page.getByRole('heading', { name: 'Sign in to open this preview' }).waitFor();
      await page.getByPlaceholder('Password of the preview').fill('close sesame');
      await page.getByRole('button', { name: 'Open with a password' }).click();
      await page.getByRole('heading', { name: 'That password is not valid' }).waitFor();
    }
    await page.getByPlaceholder('Password').fill('open sesame');
    await page.getByRole('button', { name: 'Open' }).click();
    await seesAll();
    expect(page.url()).toBe(named('/?a=b'));
  });

  test('leads a link to the name, and lets its visitor in there again', async () => {
    await call('PUT', '/access', { level: 'org', name: 'shop-demo' });
    const link = (await call('POST', '/links', { label: 'for dave' })).json<{ url: string }>();
    await page.goto(link.url);
    await seesAll();
    expect(page.url()).toBe(named());
    // The change ends the visit.
    await call('PUT', '/access', { level: 'owner' });
    await page.goto(named('/?again'));
    await seesAll();
    expect(page.url()).toBe(named('/?again'));
    await call('PUT', '/access', { level: 'owner', name: null });
    await page.goto(named());
    await page.getByRole('heading', { name: 'You cannot open this preview' }).waitFor();
  });

  test('shows the app in the frame of the console, where cookies of third parties are blocked', async () => {
    await call('PUT', '/access', { level: 'owner' });
    await page.goto(porthole.host.url);
    await page.getByLabel('API key').fill(ALICE);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Runs', exact: true }).waitFor();
    await page.goto(`${porthole.host.url}/runs/${run.runId}`);
    await page
      .frameLocator('iframe[title="What port 3412 shows"]')
      .getByRole('heading', { name: /^module GET GET POST event socket/ })
      .waitFor();
  });

  test('lets the browser of checks pass', async () => {
    await call('PUT', '/access', { level: 'owner' });
    const check = await porthole.call('POST', `/api/runs/${run.runId}/previews/3412/check`, {
      token: ALICE,
      body: { path: '/' },
    });
    expect(check.json()).toMatchObject({ result: 'works' });
  });
});
