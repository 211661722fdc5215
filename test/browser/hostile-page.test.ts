import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { openWitness, type Witness } from './app-in-sandbox.ts';

suite("a preview's page that is hostile, in a real browser", chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let hostile: Witness;
  let victim: Witness;
  let context: BrowserContext;
  let page: Page;
  /** Length of the log when the test began. */
  let mark: number;
  /** By name and by address: no key is configured, so any request that succeeds is `local`. */
  let apis: string[];

  beforeAll(async () => {
    [porthole, browser] = await Promise.all([startTestHost(), launchChromium()]);
    [hostile, victim] = await Promise.all([openWitness(porthole), openWitness(porthole)]);
    apis = ['127.0.0.1', 'localhost'].map((name) => `http://${name}:${porthole.host.port}`);
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
    await page.goto(hostile.url);
    mark = porthole.logged.length;
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  async function runs(): Promise<number> {
    return (await porthole.call('GET', '/api/runs')).json<{ runs: object[] }>().runs.length;
  }

  /** Calls that the API refused since the test began, from its log: operation and status. */
  async function refused(): Promise<string[]> {
    // After a complete exchange, all earlier requests are in the log.
    await runs();
    return (
      porthole.logged
        .slice(mark)
        .map((line) => JSON.parse(line) as { msg: string; operation?: string; status?: number })
        .filter(({ msg, status = 0 }) => msg === 'request' && status >= 400)
        // The browser's own request for a favicon.
        .filter(({ operation }) => operation !== 'unmatched')
        .map(({ operation, status }) => `${operation} ${status}`)
    );
  }

  /** Runs a script in the hostile page against each of the API's addresses. */
  async function attack(script: (api: string) => string): Promise<unknown[]> {
    const results: unknown[] = [];
    for (const api of apis) results.push(await page.evaluate(script(api)));
    return results;
  }

  test('cannot read from the API', async () => {
    const got = await attack(
      (api) => `fetch('${api}/api/runs').then((it) => it.text(), (error) => error.name)`,
    );
    expect(got).toEqual(['TypeError', 'TypeError']);
    expect(await refused()).toEqual(['listRuns 403', 'listRuns 403']);
  });

  test('cannot make a run with a request that needs no permission of the API', async () => {
    const before = await runs();
    const got = await attack(
      (api) =>
        `fetch('${api}/api/runs', { method: 'POST', mode: 'no-cors', body: '{}' }).then((it) => it.type, (error) => error.name)`,
    );
    // Not even the existence of a response.
    expect(got).toEqual(['TypeError', 'TypeError']);
    expect(await refused()).toEqual(['createRun 403', 'createRun 403']);
    expect(await runs()).toBe(before);
  });

  test('cannot even send a JSON request: the permission is never given', async () => {
    const before = await runs();
    const got = await attack(
      (api) =>
        `fetch('${api}/api/runs', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then((it) => it.text(), (error) => error.name)`,
    );
    expect(got).toEqual(['TypeError', 'TypeError']);
    expect(await refused()).toEqual([]);
    expect(await runs()).toBe(before);
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'cannot make a run with a form of %s',
    async (type) => {
      const before = await runs();
      for (const api of apis) {
        await page.goto(hostile.url);
        await Promise.all([
          page.waitForURL(`${api}/api/runs`),
          page.evaluate(`{
            document.body.innerHTML = '<form method="post" action="${api}/api/runs" enctype="${type}"><input name="{" value="}"></form>';
            document.forms[0].submit();
          }`),
        ]);
        expect(JSON.parse((await page.textContent('body')) ?? '')).toMatchObject({
          code: 'origin_not_allowed',
        });
      }
      expect(await refused()).toEqual(['createRun 403', 'createRun 403']);
      expect(await runs()).toBe(before);
    },
  );

  test('cannot follow a link into the API, only to its docs', async () => {
    for (const api of apis) {
      for (const path of ['/api/runs', '/v1/openapi']) {
        await page.goto(hostile.url);
        await Promise.all([page.waitForURL(api + path), page.evaluate(`location.href = '${api}${path}'`)]);
      }
    }
    expect(await refused()).toEqual(['listRuns 403', 'listRuns 403']);
  });

  test('cannot open a WebSocket or an event stream to the API', async () => {
    const sockets = await attack(
      (api) => `new Promise((resolve) => {
        const socket = new WebSocket('${api.replace('http', 'ws')}/api/runs');
        socket.onopen = () => resolve('open');
        socket.onerror = () => resolve('refused');
      })`,
    );
    const streams = await attack(
      (api) => `new Promise((resolve) => {
        const source = new EventSource('${api}/api/runs');
        source.onopen = () => resolve('open');
        source.onerror = () => { source.close(); resolve('refused'); };
      })`,
    );
    expect([sockets, streams]).toEqual([
      ['refused', 'refused'],
      ['refused', 'refused'],
    ]);
    expect(await refused()).toEqual(['listRuns 403', 'listRuns 403']);
  });

  test('cannot frame the docs page, nor take the document as a script', async () => {
    await attack(
      (api) => `new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.onload = resolve;
        frame.src = '${api}/v1/openapi';
        document.body.append(frame);
      })`,
    );
    const scripts = await attack(
      (api) => `new Promise((resolve) => {
        const script = document.createElement('script');
        script.onload = () => resolve('loaded');
        script.onerror = () => resolve('refused');
        script.src = '${api}/v1/openapi.json';
        document.body.append(script);
      })`,
    );
    expect(scripts).toEqual(['refused', 'refused']);
    expect(await refused()).toEqual([
      'getOpenApiPage 403',
      'getOpenApiPage 403',
      'getOpenApiSchema 403',
      'getOpenApiSchema 403',
    ]);
  });

  test("cannot open a WebSocket to another run's preview, though it knows the URL", async () => {
    const open = (url: string) => `new Promise((resolve) => {
      const socket = new WebSocket('${url.replace('http', 'ws')}/hostile');
      socket.onmessage = ({ data }) => resolve(data);
      socket.onerror = () => resolve('refused');
    })`;
    expect(await page.evaluate(open(hostile.url))).toBe('welcome');
    expect(await page.evaluate(open(victim.url))).toBe('refused');
    expect((await victim.seen()).filter(({ upgrade }) => upgrade)).toEqual([]);
  });

  test('tells no other origin its URL by a Referer, whatever policy the app asks for', async () => {
    await page.goto(`${hostile.url}/cookies?secret=path`);
    await page.evaluate(`fetch('${victim.url}/referred-by-fetch', { mode: 'no-cors' })`);
    await page.evaluate(`new Promise((resolve) => {
      const image = new Image();
      image.onload = image.onerror = resolve;
      image.src = '${victim.url}/referred-by-image';
    })`);
    await Promise.all([
      page.waitForURL(`${victim.url}/referred-by-link`),
      page.evaluate(`location.href = '${victim.url}/referred-by-link'`),
    ]);
    const referred = (await victim.seen()).filter(({ url }) => url.startsWith('/referred-by-'));
    expect(referred.map(({ url, headers }) => [url, headers['referer']])).toEqual([
      ['/referred-by-fetch', undefined],
      ['/referred-by-image', undefined],
      ['/referred-by-link', undefined],
    ]);
  });

  test('sets cookies for itself alone, though the app asks for all of localhost', async () => {
    await page.goto(`${hostile.url}/cookies`);
    await page.evaluate(`document.cookie = 'scripted=1; domain=localhost; path=/'`);
    await page.goto(`${hostile.url}/own-again`);
    await page.goto(`${victim.url}/next-door`);
    const cookieOf = async (witness: Witness, path: string) =>
      (await witness.seen()).find(({ url }) => url === path)?.headers['cookie'];
    expect(await cookieOf(hostile, '/own-again')).toBe('wide=1; own=1');
    expect(await cookieOf(victim, '/next-door')).toBeUndefined();
    for (const api of apis) expect(await context.cookies(api)).toEqual([]);
  });
});
