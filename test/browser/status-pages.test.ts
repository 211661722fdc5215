import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Frame, Page } from 'playwright-core';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { reap } from '#handlers/ops/scheduled.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { openSandbox } from './app-in-sandbox.ts';

suite('a preview of an app that does not answer, in a real browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];
  let hoursPassed = 0;
  const clock = { ...systemClock, now: () => new Date(Date.now() + hoursPassed * 3_600_000) };

  const openTab = async (): Promise<Page> => {
    const tab = await browser.newPage();
    tab.on('pageerror', (error) => problems.push(error.message));
    tab.on('console', (message) => {
      // The browser itself reports the status of the document; anything else is an error of the
      // page.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        problems.push(message.text());
    });
    return tab;
  };

  beforeAll(async () => {
    [porthole, browser] = await Promise.all([startTestHost({}, { clock }), launchHeadlessShell()]);
    page = await openTab();
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  /** In a frame: a tab is sent to the page that may start the preview. */
  const openInFrame = async (url: string): Promise<{ status: number; frame: Frame }> => {
    // Without the policy of the page before.
    const tab = await openTab();
    const answered = tab.waitForResponse((answer) => answer.url().startsWith(url));
    await tab.setContent(`<iframe src="${url}"></iframe>`);
    const answer = await answered;
    await answer.finished();
    return { status: answer.status(), frame: answer.frame() };
  };

  test('says that nothing listens, and becomes the app once its server has started', async () => {
    const { api, sandbox, url, serve } = await openSandbox(porthole);
    const answer = await page.goto(`${url}/deep/page.html?q=1`);
    expect(answer?.status()).toBe(502);
    expect(await page.textContent('h1')).toBe('Nothing listens on port 3000 yet');
    await api.write(sandbox, 'deep/page.html', '<title>app</title><h1>The app</h1>');
    await serve('python3 -m http.server 3000 --bind 127.0.0.1');
    await page.waitForSelector('h1:text-is("The app")');
    expect(page.url()).toBe(`${url}/deep/page.html?q=1`);
  });

  test('says that the sandbox is not running, and becomes the app once it runs again', async () => {
    const { api, sandbox, url, serve } = await openSandbox(porthole);
    await api.write(sandbox, 'index.html', '<title>app</title><h1>The app</h1>');
    await porthole.host.services.sandboxes.stop(sandbox);
    const { status, frame } = await openInFrame(url);
    expect(status).toBe(503);
    expect(await frame.textContent('h1')).toBe('The sandbox is not running');
    await porthole.host.services.sandboxes.resume(sandbox);
    await serve('python3 -m http.server 3000 --bind 127.0.0.1');
    await frame.waitForSelector('h1:text-is("The app")');
  });

  test('says that it was stopped, and never looks again', async () => {
    const { api, runId, preview, url } = await openSandbox(porthole);
    await api.call('DELETE', `/api/runs/${runId}/sandbox/port-forward/${preview.session_id}`);
    const answer = await page.goto(url);
    expect(answer?.status()).toBe(410);
    expect(await page.textContent('h1')).toBe('This preview was stopped');
    expect(await page.locator('meta[http-equiv]').count()).toBe(0);
  });

  test('says that it has expired', async () => {
    const { url } = await openSandbox(porthole);
    hoursPassed += 1;
    await reap(porthole.host.services);
    const { status, frame } = await openInFrame(url);
    expect(status).toBe(410);
    expect(await frame.textContent('h1')).toBe('This preview has expired');
  });

  test('says that there is no preview, for a token that never existed', async () => {
    const { port } = porthole.host;
    const url = `http://north-wind-song-${'a'.repeat(26)}-preview.localhost:${port}/`;
    const { status, frame } = await openInFrame(url);
    expect(status).toBe(404);
    expect(await frame.textContent('h1')).toBe('There is no such preview');
  });

  test('keeps its own policy: no page of them breaks it', () => {
    expect(problems).toEqual([]);
  });
});
