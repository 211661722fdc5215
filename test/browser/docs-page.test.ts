import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';

const KEY = 'a-key-of-the-service';

suite('the docs page, in a real browser', chromiumMissing, () => {
  let open: TestHost;
  let secured: TestHost;
  let browser: Browser;

  beforeAll(async () => {
    [open, secured, browser] = await Promise.all([
      startTestHost(),
      startTestHost({ SANDBOX_API_KEY: KEY }),
      launchHeadlessShell(),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([open?.end(), secured?.end()]);
  });

  async function visit(address: string, context?: BrowserContext) {
    const page = await (context ?? browser).newPage();
    const origins = new Set<string>();
    const problems: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin);
    });
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(address);
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    return { page, origins, problems };
  }

  async function documented(): Promise<readonly string[]> {
    const { paths } = (await open.call('GET', '/v1/openapi.json')).json<{
      paths: Record<string, Record<string, unknown>>;
    }>();
    return Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
  }

  /** Method and path of each operation on the page, as the list of its section shows it. */
  function shown(page: Page): Promise<readonly string[]> {
    return page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('.endpoint')].map((each) =>
        [...each.children].map((part) => part.innerText.trim()).join(' '))`,
    );
  }

  /** Sends the call that the page offers for an operation, and returns it. */
  async function tryIt(page: Page, call: 'get /api/runs') {
    const [, path] = call.split(' ');
    await page.getByRole('link', { name: 'List your runs' }).click();
    await page.getByRole('button', { name: `Test Request (${call})`, exact: true }).click();
    const [response] = await Promise.all([
      page.waitForResponse((each) => new URL(each.url()).pathname === path),
      page.getByRole('button', { name: `Send get request to ${path}` }).click(),
    ]);
    return response;
  }

  test('shows every route without the internet and without an error, in the theme of the console', async () => {
    const { page, origins, problems } = await visit(`${open.host.url}/v1/openapi`);
    expect([...(await shown(page))].sort()).toEqual([...(await documented())].sort());
    expect([...origins]).toEqual([open.host.url]);
    expect(problems).toEqual([]);
    const colour = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await colour();
    await page.evaluate("localStorage.setItem('porthole-theme', 'dark')");
    await page.reload();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    expect(await colour()).not.toBe(light);
    expect(await page.evaluate("document.querySelector('.dark-mode') !== null")).toBe(true);
    await page.close();
  });

  test('takes the key out of its address, and calls the API with it', async () => {
    const { page, origins, problems } = await visit(`${secured.host.url}/v1/openapi?token=${KEY}`);
    expect(page.url()).not.toContain(KEY);
    expect(new URL(page.url()).search).toBe('');
    expect([...origins]).toEqual([secured.host.url]);
    expect(problems).toEqual([]);
    const answer = await tryIt(page, 'get /api/runs');
    expect([answer.status(), await answer.json()]).toEqual([200, { runs: [], next: null, total: null }]);
    expect(await answer.request().headerValue('authorization')).toBe(`Bearer ${KEY}`);
    await page.close();
  });

  test('calls the API with the session of the browser', async () => {
    const context = await browser.newContext();
    const { url } = secured.host;
    const signedIn = await context.request.post(`${url}/api/session`, {
      data: { key: KEY },
      headers: { origin: url },
    });
    expect(signedIn.ok()).toBe(true);
    const { page, problems } = await visit(`${url}/v1/openapi`, context);
    const answer = await tryIt(page, 'get /api/runs');
    expect(answer.status()).toBe(200);
    expect(await answer.request().headerValue('authorization')).toBeNull();
    expect(problems).toEqual([]);
    await context.close();
  });
});
