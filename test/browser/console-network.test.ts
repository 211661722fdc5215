/** The network of a sandbox in the console, with a proxy of this test in place of the internet. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { missingFor } from '#test/adapters/local/machine.ts';
import { execute } from '#test/host/support/commands.ts';
import { makeRun, type MadeRun } from '#test/host/support/runs.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { decide, ensureConsoleBuilt, violations, watch, type Watched } from './support/console-fixture.ts';

const missing = chromiumMissing ?? missingFor('bubblewrap');

suite('the network of a sandbox in the console', missing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let page: Page;
  let watched: Watched;
  let run: MadeRun;
  const internet = createServer((_request, response) => response.end('from afar\n'));
  internet.on('connect', (_request, client) => {
    const { port } = internet.address() as AddressInfo;
    const server = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(server).pipe(client);
    });
    server.on('error', () => client.destroy());
    client.on('error', () => server.destroy());
  });
  const curl = async (url: string) =>
    (await execute(porthole, run.sandboxId, ['curl', '-sS', '-m', '90', url])).stdout.toString();
  const pane = () => page.locator('[data-pane="network"]');
  const row = (host: string, decision: string): Locator =>
    pane().getByRole('row').filter({ hasText: host }).filter({ hasText: decision });

  beforeAll(async () => {
    ensureConsoleBuilt();
    internet.listen(0, '127.0.0.1');
    await once(internet, 'listening');
    const proxy = `http://127.0.0.1:${(internet.address() as AddressInfo).port}`;
    [porthole, browser] = await Promise.all([
      startTestHost({ https_proxy: proxy, http_proxy: proxy }),
      launchHeadlessShell(),
    ]);
    run = await makeRun(porthole, undefined, { title: 'Reads an API' });
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    watched = watch(page);
    await page.goto(`${porthole.host.url}/runs/${run.runId}?pane=network`);
    await pane().getByText('No connections yet').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
    internet.close().closeAllConnections();
  });

  test('lets curl go on once a person approves its host', async () => {
    const answer = curl('http://api.example.test/');
    const card = page.getByRole('article', { name: 'Let the sandbox connect to api.example.test?' });
    await card.getByText('curl').waitFor();
    expect(await violations(page)).toEqual([]);
    await decide(card, 'Approve once');
    expect(await answer).toBe('from afar\n');
    await row('api.example.test', 'approved by the owner').waitFor();
    expect(await row('api.example.test', 'allowed').getByText('10 B').isVisible()).toBe(true);
  });

  test('shows a blocked host at once, and allows it from its row', async () => {
    const body = { ask: false };
    expect((await porthole.call('PATCH', `/v1/sandbox/${run.sandboxId}`, { body })).status).toBe(200);
    expect(await curl('http://blocked.example.test/')).toContain('is blocked (not on the list)');
    await row('blocked.example.test', 'not on the list').waitFor();
    await pane().getByRole('button', { name: 'Allow blocked.example.test' }).click();
    const hosts = pane().getByRole('list', { name: 'Allowed hosts' });
    await hosts.getByText('blocked.example.test').waitFor();
    const [above, below] = [await pane().getByText('May reach:').boundingBox(), await hosts.boundingBox()];
    expect((below?.y ?? 0) - (above?.y ?? 0) - (above?.height ?? 0)).toBeGreaterThanOrEqual(8);
    await pane().getByRole('button', { name: 'Allow blocked.example.test' }).waitFor({ state: 'detached' });
    expect(await curl('http://blocked.example.test/')).toBe('from afar\n');
    await row('blocked.example.test', 'allow blocked.example.test').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test('shows the whole host of each connection on a phone, in both themes', async () => {
    const body = { allow: ['registry.example.com'] };
    expect((await porthole.call('PATCH', `/v1/sandbox/${run.sandboxId}`, { body })).status).toBe(200);
    expect(await curl('http://registry.example.com/')).toBe('from afar\n');
    expect(await curl('http://mirror.example.com/')).toContain('is blocked (not on the list)');
    const host = row('registry.example.com', 'allowed').getByText('registry.example.com', { exact: true });
    await row('mirror.example.com', 'blocked').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const [{ lines, cut }, body] = await Promise.all([
        host.evaluate((element) => ({
          lines: element.getClientRects().length,
          cut: [...element.getClientRects()].some(({ right }) => right > 390),
        })),
        pane()
          .locator('.pane-body')
          .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
      ]);
      expect({ lines, cut, body }).toEqual({ lines: 1, cut: false, body: 0 });
      expect(await pane().getByRole('button', { name: 'Allow mirror.example.com' }).isVisible()).toBe(true);
      expect(await violations(page)).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: null });
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test('takes an entry off the list again, in the page of the sandbox', async () => {
    await page.goto(`${porthole.host.url}/sandboxes/${run.sandboxId}?pane=network`);
    await pane().getByRole('button', { name: 'Remove registry.example.com from allowed hosts' }).click();
    await pane().getByRole('list', { name: 'Allowed hosts' }).waitFor({ state: 'detached' });
    expect(await curl('http://registry.example.com/')).toContain('is blocked (not on the list)');
    await row('registry.example.com', 'blocked').waitFor();
    expect(watched.problems).toEqual([]);
  });
});
