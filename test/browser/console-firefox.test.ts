import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Frame, Page } from 'puppeteer-core';
import { makeRun } from '#test/host/support/runs.ts';
import { firefoxMissing, launchFirefox } from '#test/support/firefox.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt } from './support/console-fixture.ts';

const MINUTE = 60_000;
const WINDOWS = {
  'a wide window': { width: 1280, height: 800 },
  'a phone': { width: 390, height: 844 },
} as const;

suite('the console in Firefox', firefoxMissing, () => {
  let browser: Browser;

  beforeAll(async () => {
    ensureConsoleBuilt();
    browser = await launchFirefox();
  }, 2 * MINUTE);
  afterAll(() => browser?.close());

  /** A new page, and what its scripts and its CSP report as errors. */
  async function open(viewport: { width: number; height: number }): Promise<[Page, string[]]> {
    const page = await browser.newPage();
    page.setDefaultTimeout(MINUTE);
    await page.setViewport(viewport);
    const problems: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    return [page, problems];
  }

  /**
   * By text, label or picture: a query by role makes Firefox compute the names of the whole page,
   * which takes seconds in a large one.
   */
  const named = (element: string, name: string) =>
    `::-p-xpath(//${element}[normalize-space()='${name}' or normalize-space(text())='${name}' or @aria-label='${name}' or .//img[@alt='${name}']])`;

  test.each(Object.keys(WINDOWS) as (keyof typeof WINDOWS)[])(
    'leads a new user in %s from an empty console to an app that works, and a comment on it',
    async (name) => {
      const fresh = await startTestHost();
      const [page, problems] = await open(WINDOWS[name]);
      const press = (label: string) => page.locator(named('button', label)).click();
      const sees = (text: string) => page.locator(`::-p-text(${text})`).wait();
      try {
        await page.goto(fresh.host.url);
        await press('Try it');
        await page.locator(named('h1', 'A first preview')).wait();
        const { pathname } = new URL(page.url());
        // As `decide` does: the request takes no press just after it has moved.
        for (let isTaken = false; !isTaken; ) {
          await page.locator('.decision[data-armed="true"]').wait();
          await press('Approve once');
          isTaken = (await page.$('.approval:not([aria-busy="true"])')) === null;
        }
        await (await frameOf(page)).locator('::-p-text(Hello through the porthole)').wait();

        await press('Page check: Running');
        await press('Check page');
        await page.locator("::-p-xpath(//article//*[normalize-space(text())='Works'])").wait();

        if ((await page.$$(named('button', 'Comment on port 3000'))).length === 0) await press('Comments');
        await press('Comment on port 3000');
        const picture = await page.locator(named('button', 'Port 3000, /')).waitHandle();
        const { width = 0 } = (await picture.boundingBox()) ?? {};
        // The heading is above the middle of a page of 1,280 by 800 px.
        const scale = width / 1_280;
        await picture.click({ offset: { x: Math.round(640 * scale), y: Math.round(355 * scale) } });
        await sees('Pinned to heading “Hello through the porthole”');
        await page.locator(`::-p-aria([name="Comment"][role="textbox"])`).fill('Say good morning');
        await press('Send');
        await page.locator('.inbox ::-p-text(Say good morning)').wait();
        expect(new URL(page.url()).pathname).toBe(pathname);
        const inbox = await fresh.call('GET', `/api${pathname}/inbox`);
        expect(inbox.json()).toMatchObject({
          messages: [{ text: 'Say good morning', pin: { role: 'heading', port: 3000, path: '/' } }],
        });
        expect(problems).toEqual([]);
      } finally {
        await page.close();
        await fresh.end();
      }
    },
    3 * MINUTE,
  );

  test(
    'shows each page without an error of a script or of the CSP',
    async () => {
      const porthole = await startTestHost();
      const secured = await startTestHost({
        PORTHOLE_API_KEYS: JSON.stringify({ 'a-key-of-alice-0123': { user: 'alice', org: 'acme' } }),
      });
      const [page, problems] = await open(WINDOWS['a wide window']);
      try {
        const { runId, sandboxId } = await makeRun(porthole, undefined, { title: 'Pricing page' });
        await porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/workspace/prices.py`, { body: 'a = 1\n' });
        const tool = await porthole.call('POST', '/api/v1/editor/tools', {
          body: { name: 'Check', language: 'python', entrypoint: 'run', source_code: 'def run(i, c): pass' },
        });
        const { tool_id: toolId } = tool.json<{ tool_id: string }>();
        const { url } = porthole.host;
        const pages = [
          [url, named('a', 'Pricing page')],
          [`${url}/runs/${runId}`, '.page-head:not(:has(.state))'],
          [`${url}/sandboxes`, 'table a'],
          [`${url}/tools`, named('a', 'Check')],
          [`${url}/tools/${toolId}`, '>>> .cm-content'],
          [`${url}/v1/openapi`, named('h2', 'Runs')],
          [secured.host.url, 'input[type=password]'],
        ] as const;
        for (const [address, whole] of pages) {
          await page.goto(address);
          await page.locator(whole).wait();
          expect([address, problems]).toEqual([address, []]);
        }

        await page.goto(`${url}/sandboxes/${sandboxId}?pane=files`);
        await page.locator('::-p-text(prices.py)').click();
        await page.locator('>>> .cm-content').click();
        await page.keyboard.type('b = 2 ');
        await page.keyboard.down('Control');
        await page.keyboard.press('s');
        await page.keyboard.up('Control');
        await page.locator('::-p-text(Saved.)').wait();

        await page.goto(`${url}/sandboxes/${sandboxId}`);
        await page.locator('::-p-text(Connected)').wait();
        await page.locator('.xterm').click();
        await page.keyboard.type('cat prices.py\n');
        await page.locator('.xterm-rows ::-p-text(b = 2)').wait();
        expect(problems).toEqual([]);
      } finally {
        await page.close();
        await Promise.all([porthole.end(), secured.end()]);
      }
    },
    3 * MINUTE,
  );
});

/** The frame of the page's preview. */
async function frameOf(page: Page): Promise<Frame> {
  const frame = await (await page.locator('iframe').waitHandle()).contentFrame();
  if (frame === null) throw new Error('the element has no frame');
  return frame;
}
