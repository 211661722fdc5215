/** Pages that call `http://localhost:{port}`, as they do on the machine of their author. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { makeRun, startPreview } from '#test/host/support/runs.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { firefoxMissing, launchFirefox } from '#test/support/firefox.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';

const [PAGE, API] = [3434, 3435];
const AT = `http://localhost:${API}`;

/** Each way in which a page calls another server. */
const CALLS: Readonly<Record<string, string>> = {
  fetch: `await (await fetch('${AT}/fetch')).text()`,
  'fetch of a URL': `await (await fetch(new URL('http://127.0.0.1:${API}/url'), { credentials: 'include' })).text()`,
  'fetch of a Request': `await (await fetch(new Request('${AT}/request', { method: 'POST', body: 'x', headers: { 'content-type': 'application/json' } }))).text()`,
  XMLHttpRequest: `await new Promise((resolve) => { const r = new XMLHttpRequest(); r.open('PUT', '${AT}/xhr'); r.onload = () => resolve(r.responseText); r.send('x'); })`,
  EventSource: `await new Promise((resolve) => { const s = new EventSource('${AT}/events'); s.onmessage = ({ data }) => { s.close(); resolve(data); }; })`,
  WebSocket: `await new Promise((resolve) => { const s = new WebSocket('ws://localhost:${API}/live', 'a'); s.onmessage = ({ data }) => resolve(data + ' ' + s.protocol + ' ' + (s instanceof WebSocket) + WebSocket.OPEN); })`,
  'an image': `await new Promise((resolve) => { const i = new Image(); i.onload = () => resolve('image ' + i.naturalWidth); i.src = '${AT}/picture.svg'; })`,
  'an image of the HTML': `await new Promise((resolve) => { const i = document.querySelector('img'); const look = () => i.naturalWidth > 0 ? resolve('image ' + i.naturalWidth) : setTimeout(look, 10); look(); })`,
  'a script': `await new Promise((resolve) => { const s = document.createElement('script'); s.setAttribute('src', '${AT}/script.js'); s.onload = () => resolve(globalThis.script); document.head.append(s); })`,
  'its own port': `await (await fetch('http://localhost:${PAGE}/own')).text()`,
  'a port without a preview': `(await fetch('http://localhost:9/')).status`,
  'a relative path': `await (await fetch('/own')).text()`,
};
const EXPECTED = {
  fetch: 'GET /fetch',
  'fetch of a URL': 'GET /url',
  'fetch of a Request': 'POST /request application/json x',
  XMLHttpRequest: 'PUT /xhr text/plain;charset=UTF-8 x',
  EventSource: 'GET /events',
  WebSocket: `/live http://localhost:${PAGE} a true1`,
  'an image': 'image 7',
  'an image of the HTML': 'image 7',
  'a script': 'GET /script.js',
  'its own port': 'page /own',
  'a port without a preview': 404,
  'a relative path': 'page /own',
};

const HTML = `<!doctype html><html><head><meta charset="utf-8"><title>é</title></head><body><img src="${AT}/picture.svg">
<a href="${AT}/linked">link</a><form method="post" action="${AT}/sent"><button>send</button></form>
<button id="away" onclick="location.href = '${AT}/away'">away</button></body></html>`;

/** Answers what it is asked, and `direct` to what did not come through a preview. */
const server = `
const [port, html] = process.argv.slice(1);
require('node:http').createServer(async (req, res) => {
  let body = '';
  for await (const part of req) body += part;
  if (html && req.url === '/') return res.setHeader('content-type', 'text/html').end(html);
  if (html) return res.end('page ' + req.url);
  const text = [req.method, req.url, ...(body ? [req.headers['content-type'], body] : [])].join(' ');
  if (!req.headers['x-forwarded-for']) return res.writeHead(404).end('direct');
  if (req.url === '/events') return res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: ' + text + '\\n\\n');
  if (req.url === '/script.js') return res.setHeader('content-type', 'text/javascript').end('globalThis.script = ' + JSON.stringify(text));
  if (req.url === '/picture.svg') return res.setHeader('content-type', 'image/svg+xml').end('<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>');
  res.setHeader('content-type', 'text/plain').end(text);
}).on('upgrade', (req, socket) => {
  const key = require('node:crypto').createHash('sha1').update(req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  const text = req.url + ' ' + req.headers.origin;
  socket.write('HTTP/1.1 101 x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Protocol: a\\r\\nSec-WebSocket-Accept: ' + key + '\\r\\n\\r\\n');
  socket.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]));
}).listen(Number(port), '127.0.0.1')`;

let porthole: TestHost;
let url: string;
let session: string;
beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
  const made = await porthole.call('POST', '/v1/sandbox', {
    body: { env: { PORTHOLE_LOCALHOST: 'map' } },
    token: ALICE,
  });
  const { id } = made.json<{ id: string }>();
  const run = await makeRun(porthole, ALICE, { sandbox_id: id });
  const open = async (port: number, ...more: string[]) => {
    const body = { argv: ['node', '-e', server, String(port), ...more], port };
    await porthole.call('PUT', `/v1/sandbox/${id}/servers/web-${port}`, { body, token: ALICE });
    const preview = await startPreview(porthole, run.runId, port, ALICE);
    expect(preview.ready).toBe(true);
    return preview;
  };
  const [page] = [await open(PAGE, HTML), await open(API)];
  url = page.preview_url ?? '';
  session = page.session_id;
});
afterAll(() => porthole.end());

const script = `(async () => {
  const answers = {};
  ${Object.entries(CALLS)
    .map(([name, call]) => `answers[${JSON.stringify(name)}] = ${call};`)
    .join('\n')}
  return answers;
})()`;

/** The ways to go to another server, which leave the page. */
const WAYS = [
  ['a link', 'a', 'GET /linked'],
  ['a form', 'form button', 'POST /sent'],
] as const;

suite('localhost in a preview, in Chromium', chromiumMissing, () => {
  let browser: Awaited<ReturnType<typeof launchChromium>>;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  let page: Awaited<ReturnType<typeof browser.newPage>>;
  beforeEach(async () => {
    for (const context of browser.contexts()) await context.close();
    page = await browser.newPage();
  });

  test('is the servers of the sandbox, for every call of a page', async () => {
    await page.goto(url);
    expect(await page.evaluate(script)).toEqual(EXPECTED);
    expect(await page.title()).toBe('é');
  });

  test('is the servers of the sandbox for the owner at the level owner', async () => {
    const set = (id: string, level: string) =>
      porthole.call('PUT', `/v1/previews/${id}/access`, { body: { level }, token: ALICE });
    await set(session, 'owner');
    await page.goto(url);
    await page.getByPlaceholder('Your key').fill(ALICE);
    await page.getByRole('button', { name: 'Sign in with a key' }).click();
    await page.getByRole('link', { name: 'link' }).waitFor();
    expect(await page.evaluate(script)).toEqual(EXPECTED);
    await set(session, 'link');
  });

  test.each([...WAYS, ['its own location', '#away', 'GET /away']] as const)(
    'is where %s leads',
    async (_, selector, seen) => {
      await page.goto(url);
      await page.click(selector);
      await page.getByText(seen).waitFor();
      expect(new URL(page.url()).host).toBe(new URL(url).host);
    },
  );
});

suite('localhost in a preview, in Firefox', firefoxMissing, () => {
  let browser: Awaited<ReturnType<typeof launchFirefox>>;
  beforeAll(async () => {
    browser = await launchFirefox();
  }, 120_000);
  afterAll(() => browser?.close());

  test('is the servers of the sandbox, for every call of a page', async () => {
    const page = await browser.newPage();
    await page.goto(url);
    expect(await page.evaluate(script)).toEqual(EXPECTED);
  }, 60_000);

  test.each(WAYS)(
    'is where %s leads',
    async (_, selector, seen) => {
      const page = await browser.newPage();
      await page.goto(url);
      await page.click(selector);
      await page.waitForFunction(`document.body.textContent.includes('${seen}')`);
      expect(new URL(page.url()).host).toBe(new URL(url).host);
    },
    60_000,
  );
});

test('refuses an unknown value of PORTHOLE_LOCALHOST', async () => {
  const { status, text } = await porthole.call('POST', '/v1/sandbox', {
    body: { env: { PORTHOLE_LOCALHOST: 'on' } },
    token: ALICE,
  });
  expect([status, text]).toEqual([400, expect.stringContaining('must be \\"map\\"')]);
});
