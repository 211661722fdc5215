import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';

const KEY = 'a-key-of-the-service';

interface Visit {
  /** Origins of all requests of the page, including its own. */
  readonly origins: readonly string[];
  readonly problems: readonly string[];
  readonly address: string;
  readonly operations: number;
  readonly text: string;
}

suite('the docs page, in a real browser', chromiumMissing, () => {
  let open: TestHost;
  let secured: TestHost;
  let browser: Browser;

  beforeAll(async () => {
    [open, secured, browser] = await Promise.all([
      startTestHost(),
      startTestHost({ SANDBOX_API_KEY: KEY }),
      launchChromium(),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([open?.end(), secured?.end()]);
  });

  async function visit(address: string): Promise<Visit> {
    const page = await browser.newPage();
    const requests: string[] = [];
    const problems: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(address);
    await page.waitForSelector('.opblock');
    const origins = new Set(
      requests.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).origin),
    );
    const result = {
      origins: [...origins],
      problems,
      address: page.url(),
      // The viewer renders a long document as it is scrolled: counts what it has read.
      operations: await page.evaluate<number>('window.ui.specSelectors.operations().size'),
      text: (await page.textContent('body')) ?? '',
    };
    await page.close();
    return result;
  }

  test('shows every route without the internet and without an error', async () => {
    const { paths } = (await open.call('GET', '/v1/openapi.json')).json<{
      paths: Record<string, Record<string, unknown>>;
    }>();
    const operations = Object.values(paths).flatMap((item) => Object.keys(item)).length;
    const seen = await visit(`${open.host.url}/v1/openapi`);
    expect(seen).toMatchObject({ origins: [open.host.url], problems: [], operations });
    expect(seen.text).toContain('/api/runs/{id}/timeline');
  });

  test('works with the key in its address, and takes it out of there', async () => {
    const seen = await visit(`${secured.host.url}/v1/openapi?token=${KEY}`);
    expect(seen).toMatchObject({
      origins: [secured.host.url],
      problems: [],
      address: `${secured.host.url}/v1/openapi`,
    });
  });

  test('calls the API from the page: Try it out works', async () => {
    const page = await browser.newPage();
    await page.goto(`${secured.host.url}/v1/openapi?token=${KEY}`);
    const route = page.locator('#operations-Runs-listRuns');
    await route.locator('.opblock-summary-control').click();
    await route.getByRole('button', { name: 'Try it out' }).click();
    const [answer] = await Promise.all([
      page.waitForResponse((response) => new URL(response.url()).pathname === '/api/runs'),
      route.getByRole('button', { name: 'Execute' }).click(),
    ]);
    expect([answer.status(), await answer.json()]).toEqual([200, { runs: [], next: null, total: null }]);
    await page.close();
  });
});
