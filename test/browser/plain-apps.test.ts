import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { startPreview } from '../../examples/demo/open-preview.ts';
import { openSandbox, openWitness, type Witness } from './app-in-sandbox.ts';

const MEBIBYTE = 1_048_576;

suite('an ordinary server in a sandbox, in a real browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let page: Page;
  let witness: Witness;

  beforeAll(async () => {
    [porthole, browser] = await Promise.all([startTestHost(), launchChromium()]);
    witness = await openWitness(porthole);
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  test('python3 -m http.server on 127.0.0.1 shows its page, and an edit after a reload', async () => {
    const { api, sandbox, url, serve } = await openSandbox(porthole);
    await api.write(sandbox, 'index.html', '<title>plain</title><h1>A plain page</h1>');
    // This server distinguishes versions only by the second.
    await api.exec(sandbox, ['touch', '-d', '@0', 'index.html']);
    await serve('python3 -m http.server 3000 --bind 127.0.0.1');
    await page.goto(url);
    expect(await page.textContent('h1')).toBe('A plain page');
    await api.write(sandbox, 'index.html', '<title>plain</title><h1>An edited page</h1>');
    await page.reload();
    expect(await page.textContent('h1')).toBe('An edited page');
  });

  test('a page reads the API of another preview that allows its local port', async () => {
    const { api, runId, sandbox, url, serve } = await openSandbox(porthole);
    await api.write(sandbox, 'index.html', '<title>front end</title>');
    await api.write(sandbox, 'api.mjs', API);
    await serve('node api.mjs & python3 -m http.server 3000 --bind 127.0.0.1');
    const other = (await startPreview(api, runId, 3001)).preview_url;
    await page.goto(url);
    const post = `fetch('${other}/items', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })`;
    expect(await page.evaluate(`${post}.then((it) => it.text())`)).toBe('from http://localhost:3000');
  });

  test('server-sent events arrive one by one', async () => {
    await page.goto(witness.url);
    const got = await page.evaluate(`new Promise((resolve) => {
      const got = [];
      new EventSource('/events').onmessage = ({ data, target }) => {
        got.push(data);
        if (got.length < 3) return fetch('/next-event');
        target.close();
        resolve(got);
      };
    })`);
    expect(got).toEqual(['1', '2', '3']);
  });

  test('opens a WebSocket, and its first message arrives', async () => {
    await page.goto(witness.url);
    expect(await page.evaluate(FIRST_MESSAGE(witness.url.replace('http', 'ws')))).toBe('welcome');
  });

  test('delivers a download of 48 MiB whole', async () => {
    await page.goto(witness.url);
    const bytes = 48 * MEBIBYTE;
    const got = `fetch('/download?bytes=${bytes}').then((it) => it.arrayBuffer()).then((it) => it.byteLength)`;
    expect(await page.evaluate(got)).toBe(bytes);
  });

  test('receives an upload of 4 MiB whole', async () => {
    await page.goto(witness.url);
    const bytes = 4 * MEBIBYTE;
    const sent = `fetch('/upload', { method: 'POST', body: new Uint8Array(${bytes}) }).then((it) => it.text())`;
    expect(await page.evaluate(sent)).toBe(String(bytes));
  });
});

/** Allows one origin, by CORS with a preflight. */
const API = `
import { createServer } from 'node:http';
createServer((req, res) => {
  res.setHeader('Access-Control-Allow-Origin', 'http://localhost:3000');
  res.setHeader('Access-Control-Allow-Headers', 'content-type');
  res.end('from ' + req.headers.origin);
}).listen(3001, '127.0.0.1');`;

const FIRST_MESSAGE = (url: string) => `new Promise((resolve) => {
  const socket = new WebSocket('${url}');
  socket.onmessage = ({ data }) => resolve(data);
  socket.onclose = ({ code }) => resolve(code);
})`;
