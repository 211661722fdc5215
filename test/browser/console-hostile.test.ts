import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { approvalsAsked, askAndLeave } from '#test/host/support/approvals.ts';
import { makeRun, type MadeRun } from '#test/host/support/runs.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, watch, type Watched } from './support/console-fixture.ts';

const KEY = 'a-key-of-alice-0123';
/** Executes if it is used as anything but text. */
const HOSTILE = `"'><img src=x onerror="window.pwned=1"><svg onload=window.pwned=1><script>window.pwned=1</script>`;
/** The same as a file name, which cannot contain a slash. */
const HOSTILE_NAME = `"'><img src=x onerror=window.pwned=1>.html`;
const HOSTILE_PAGE = `<!doctype html><title>pwned</title><script>window.pwned=1</script>`;
/** Serves a page with this title. */
const SERVER = `require('node:http').createServer((_, res) => {
  res.setHeader('content-type', 'text/html');
  res.end('<!doctype html><title>' + ${JSON.stringify(HOSTILE)}.replaceAll('<', '&lt;') + '</title><p>served');
}).listen(3000);`;

suite('what is hostile in the console, in a real browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let watched: Watched;
  let url: string;
  let run: MadeRun;
  let toolId: string;
  let dialogs: string[];

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([
      startTestHost({ PORTHOLE_API_KEYS: JSON.stringify({ [KEY]: { user: 'alice', org: 'acme' } }) }),
      launchChromium(),
    ]);
    ({ url } = porthole.host);
    run = await makeRun(porthole, KEY, { title: HOSTILE.slice(0, 200) });
    const own = (method: string, path: string, body: unknown) =>
      porthole.call(method, path, { token: KEY, body });
    const file = (name: string, body: string) =>
      own('PUT', `/v1/sandbox/${run.sandboxId}/file/workspace/${encodeURIComponent(name)}`, body);
    await file(HOSTILE_NAME, HOSTILE_PAGE);
    await file('evil.svg', `<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"/>`);
    await file('evil.js', 'window.pwned = 1;');
    await file('server.cjs', SERVER);
    await own('POST', `/v1/sandbox/${run.sandboxId}/exec`, {
      argv: ['sh', '-c', '(node server.cjs > /dev/null 2>&1 &)'],
    });
    const made = await own('POST', '/api/v1/editor/tools', {
      name: HOSTILE,
      source_code: `# ${HOSTILE}\n`,
      language: 'python',
      usage_instructions: HOSTILE,
    });
    ({ tool_id: toolId } = made.json<{ tool_id: string }>());
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
    watched = watch(page);
    dialogs = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(url);
    await page.getByLabel('API key').fill(KEY);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Runs', exact: true }).waitFor();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  /**
   * Code that ran, dialogs, opened windows and errors. A page without a session reports that once.
   */
  async function harm(): Promise<unknown[]> {
    const problems = watched.problems.filter((text) => !/status of 401/.test(text));
    return [await page.evaluate('window.pwned'), dialogs, problems, [...watched.origins]];
  }
  const none = () => [undefined, [], [], [url]];

  test('appears as text in the title of a run', async () => {
    await page.getByRole('link', { name: '<script>' }).first().waitFor();
    await page.goto(`${url}/runs/${run.runId}`);
    await page.getByRole('heading', { level: 1 }).getByText('<script>').waitFor();
    expect(await harm()).toEqual(none());
  });

  test('appears as text in what an agent asks for, and in what listens there', async () => {
    const asked = askAndLeave(porthole.host.port, run.runId, run.agentToken, 3000);
    await approvalsAsked(porthole, run.runId, { token: KEY });
    await page
      .getByRole('region', { name: 'Waiting for your decision' })
      .getByText('onerror')
      .first()
      .waitFor();
    expect(await harm()).toEqual(none());
    asked.leave();
  });

  test('names of files are texts', async () => {
    await page.goto(`${url}/sandboxes/${run.sandboxId}?pane=files`);
    await page.getByText(HOSTILE_NAME, { exact: true }).first().waitFor();
    expect(await harm()).toEqual(none());
  });

  test('appears as text in the name and the words of a tool', async () => {
    await page.goto(`${url}/tools`);
    await page.getByText('<script>').first().waitFor();
    await page.goto(`${url}/tools/${toolId}`);
    await page.getByRole('heading', { level: 1 }).getByText('<script>').waitFor();
    expect(await harm()).toEqual(none());
  });

  test.each([HOSTILE_NAME, 'evil.svg'])('saves a file that is opened from a link: %s', async (name) => {
    const address = `${url}/v1/sandbox/${run.sandboxId}/file/workspace/${encodeURIComponent(name)}`;
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.evaluate(`location.assign(${JSON.stringify(address)})`),
    ]);
    expect(download.url()).toBe(address);
    expect(page.url()).toBe(`${url}/`);
    expect(await harm()).toEqual(none());
  });

  test('is not loaded as a script, worker, style, picture or frame of the console when it is a file', async () => {
    const address = (name: string) => `/v1/sandbox/${run.sandboxId}/file/workspace/${name}`;
    const loads = await page.evaluate(`(async () => {
      const loaded = (tag, rest) => new Promise((resolve) => {
        const element = Object.assign(document.createElement(tag), rest);
        element.onload = () => resolve('loaded');
        element.onerror = () => resolve('refused');
        document.head.append(element);
      });
      const worker = () => new Promise((resolve) => {
        const made = new Worker(${JSON.stringify(address('evil.js'))});
        made.onerror = () => resolve('refused');
        made.onmessage = () => resolve('loaded');
      });
      const serviceWorker = () => navigator.serviceWorker.register(${JSON.stringify(address('evil.js'))})
        .then(() => 'loaded', () => 'refused');
      return [
        await loaded('script', { src: ${JSON.stringify(address('evil.js'))} }),
        await loaded('script', { type: 'module', src: ${JSON.stringify(address('evil.js'))} }),
        await loaded('link', { rel: 'stylesheet', href: ${JSON.stringify(address('evil.js'))} }),
        await loaded('img', { src: ${JSON.stringify(address('evil.svg'))} }),
        await worker().catch(() => 'refused'),
        await serviceWorker(),
      ];
    })()`);
    expect(loads).toEqual(Array.from({ length: 6 }, () => 'refused'));
    expect(await page.evaluate('window.pwned')).toBeUndefined();
  });

  test('finds nothing that signs a person in where a script could read it', async () => {
    await page.goto(`${url}/sandboxes/${run.sandboxId}`);
    await page.getByText('Connected').waitFor();
    const readable = JSON.stringify(
      await page.evaluate(`[
        document.cookie, { ...localStorage }, { ...sessionStorage }, window.name, location.href, history.state,
        document.documentElement.outerHTML, performance.getEntriesByType('resource').map(({ name }) => name),
      ]`),
    );
    const [cookie] = await context.cookies();
    expect([cookie?.name, cookie?.httpOnly]).toEqual(['porthole-session', true]);
    expect(readable).not.toContain(cookie?.value);
    expect(readable).not.toContain(KEY);
    expect(porthole.logged.join('')).not.toContain(cookie?.value);
  });

  test('leaves no page behind after a sign-out: going back shows nothing of it', async () => {
    await page.goto(`${url}/runs/${run.runId}`);
    await page.getByRole('heading', { level: 1 }).getByText('<script>').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in', exact: true }).waitFor();
    await page.goBack({ waitUntil: 'commit' });
    await page.getByLabel('API key').waitFor();
    expect(await page.getByText('<script>').count()).toBe(0);
  });

  test('ends a terminal with its session, and brings it back with the next one', async () => {
    await page.goto(`${url}/sandboxes/${run.sandboxId}`);
    await page.getByText('Connected').waitFor();
    // As if from another tab.
    await page.evaluate(`fetch('/api/session', { method: 'DELETE' })`);
    await page.getByRole('heading', { level: 1, name: 'Sign in again' }).waitFor();
    await page.getByLabel('API key').fill(KEY);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Connected').waitFor();
    expect(await page.evaluate('window.pwned')).toBeUndefined();
  });
});
