import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import {
  BUILT,
  decide,
  ensureConsoleBuilt,
  violations,
  watch,
  type Watched,
} from './support/console-fixture.ts';

const KEY = 'a-key-of-alice-0123';

const SERVER = `require('http').createServer((request, response) => {
  response.setHeader('content-type', 'text/html');
  response.end('<title>Pricing</title><h1>Hello from the sandbox</h1><p id="from">' + (request.headers.referer ?? 'no referrer') + '</p>');
}).listen(3000);`;

interface Run {
  readonly run_id: string;
  readonly sandbox_id: string;
  readonly agent_token: string;
}

suite('the console, in a real browser', chromiumMissing, () => {
  let porthole: TestHost;
  let secured: TestHost;
  let browser: Browser;
  let run: Run;
  let context: BrowserContext;
  let page: Page;
  let watched: Watched;

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, secured, browser] = await Promise.all([
      startTestHost(),
      startTestHost({ PORTHOLE_API_KEYS: JSON.stringify({ [KEY]: { user: 'alice', org: 'acme' } }) }),
      launchChromium(),
    ]);
    const made = await porthole.call('POST', '/api/runs', { body: { title: 'Rebuild the pricing page' } });
    run = made.json<Run>();
    const file = `/v1/sandbox/${run.sandbox_id}/file/workspace/server.js`;
    await porthole.call('PUT', file, { body: SERVER });
    await porthole.call('POST', `/v1/sandbox/${run.sandbox_id}/exec`, {
      body: { argv: ['sh', '-c', '(node server.js > dev.log 2>&1 &)'], cwd: '/workspace' },
    });
    context = await browser.newContext();
    page = await context.newPage();
    watched = watch(page);
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([porthole?.end(), secured?.end()]);
  });

  test('shows what an agent asks for within a second, wherever the person is, and opens it', async () => {
    await page.goto(`${porthole.host.url}/sandboxes`);
    await page.getByRole('heading', { name: 'Sandboxes' }).waitFor();
    const began = performance.now();
    const asking = porthole.call('POST', `/api/runs/${run.run_id}/sandbox/preview`, {
      token: run.agent_token,
      body: { target_port: 3000 },
    });
    const approve = page.getByRole('button', { name: 'Approve once' });
    await approve.waitFor();
    expect(performance.now() - began).toBeLessThan(1_000);
    await page.getByText('“Pricing”').waitFor();
    expect(await violations(page)).toEqual([]);
    await decide(page.locator('.approval'), 'Approve once');
    expect((await asking).status).toBe(200);
    await approve.waitFor({ state: 'detached' });
  });

  test('shows the app in a frame that learns nothing of the console', async () => {
    await page.goto(`${porthole.host.url}/runs/${run.run_id}?drawer=timeline`);
    const frame = page.frameLocator('iframe');
    await frame.getByText('Hello from the sandbox').waitFor();
    expect(await frame.locator('#from').textContent()).toBe('no referrer');
    await page.getByText('Preview kept alive').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test('stops a preview, and starts one of a port that listens', async () => {
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Preview stopped').waitFor();
    await page.getByRole('button', { name: 'Start a preview of port 3000' }).click();
    await page.frameLocator('iframe').getByText('Hello from the sandbox').waitFor();
  });

  test('has a terminal that is as it was after a reload', async () => {
    await page.goto(`${porthole.host.url}/sandboxes/${run.sandbox_id}`);
    await page.getByText('Connected').waitFor();
    await page.locator('.screen').click();
    await page.keyboard.type('printf "%s-%s\\n" before reload\n');
    const screen = page.locator('.xterm-rows');
    await screen.getByText('before-reload', { exact: true }).waitFor();
    await page.reload();
    await page.locator('.xterm-rows').getByText('before-reload', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test('puts a file that is dropped in into the sandbox', async () => {
    await page.getByRole('link', { name: 'server.js', exact: true }).waitFor();
    // As a string: this program does not have the page's types.
    const data = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['dropped in'], 'dropped.txt', { type: 'text/plain' }));
      return transfer;
    })()`);
    await page.locator('.files').dispatchEvent('drop', { dataTransfer: data });
    await page.getByRole('link', { name: 'dropped.txt', exact: true }).waitFor();
    const file = `/v1/sandbox/${run.sandbox_id}/file/workspace/dropped.txt`;
    expect((await porthole.call('GET', file)).text).toBe('dropped in');
    expect(await violations(page)).toEqual([]);
  });

  test('changes a file and saves it', async () => {
    await page.getByRole('link', { name: 'dropped.txt', exact: true }).click();
    const text = page.getByRole('textbox', { name: 'Text of /workspace/dropped.txt' });
    await text.click();
    await page.keyboard.type('now ');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const file = `/v1/sandbox/${run.sandbox_id}/file/workspace/dropped.txt`;
    expect((await porthole.call('GET', file)).text).toContain('now ');
  });

  test('stops and resumes a sandbox', async () => {
    await page.goto(`${porthole.host.url}/sandboxes`);
    await page.getByRole('button', { name: /^Stop / }).click();
    await page.getByRole('button', { name: /^Resume / }).click();
    await page.getByRole('button', { name: /^Stop / }).waitFor();
  });

  test('does all of it without an error, and sends requests to its own origin only', () => {
    expect({ problems: watched.problems, origins: [...watched.origins] }).toEqual({
      problems: [],
      origins: [porthole.host.url],
    });
  });

  test('asks who has a key for it, and keeps it nowhere', async () => {
    const own = await browser.newContext();
    const other = await own.newPage();
    await other.goto(`${secured.host.url}/sandboxes`);
    await other.getByLabel('API key').fill('not-the-key-of-anybody');
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByText("That key isn't valid").waitFor();
    expect(await violations(other)).toEqual([]);
    await other.getByLabel('API key').fill(KEY);
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('heading', { name: 'Sandboxes' }).waitFor();
    const kept = await other.evaluate(
      '({ stored: JSON.stringify({ ...localStorage, ...sessionStorage }), cookies: document.cookie, address: location.href })',
    );
    expect(kept).toEqual({ stored: '{}', cookies: '', address: `${secured.host.url}/sandboxes` });
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('API key').waitFor();
    await own.close();
  });

  describe('what is served', () => {
    test('is less than 180 kB of compressed script before editor and terminal', () => {
      const page = readFileSync(join(BUILT, 'index.html'), 'utf8');
      const first = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, name]) => name ?? '');
      const bytes = first.map((name) => statSync(join(BUILT, `${name}.br`)).size);
      expect(first.length).toBeGreaterThan(0);
      expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(180_000);
    });

    test('has a policy without anything inline, and is asked for again', async () => {
      const answer = await porthole.call('GET', '/runs/whatever', { headers: { 'accept-encoding': 'br' } });
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({
        'cache-control': 'no-cache',
        'content-encoding': 'br',
        'cross-origin-opener-policy': 'same-origin',
        'origin-agent-cluster': '?1',
        'referrer-policy': 'strict-origin',
      });
      expect(answer.headers['content-security-policy']).not.toContain('unsafe');
      const again = await porthole.call('GET', '/runs/whatever', {
        headers: { 'if-none-match': String(answer.headers.etag) },
      });
      expect([again.status, again.text]).toEqual([304, '']);
    });

    test('has files that may be kept for ever, as their names are of their content', async () => {
      const name = readdirSync(join(BUILT, 'assets')).find((each) => each.endsWith('.css')) ?? '';
      const answer = await porthole.call('GET', `/assets/${name}`);
      expect([answer.status, answer.headers['cache-control']]).toEqual([
        200,
        'public, max-age=31536000, immutable',
      ]);
      expect(answer.headers['content-security-policy']).toBe("default-src 'none'");
    });
  });
});
