/** A stopped preview that a browser opens: its page becomes the app. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ALICE, BOB, CAROL, PEOPLE } from '#test/host/support/people.ts';
import { type MadeRun, makeRun, type StartedPreview, startPreview } from '#test/host/support/runs.ts';

const PORT = 3415;
const APP = `require('node:http').createServer((req, res) => {
  res.writeHead(200, { 'content-type': 'text/html' });
  res.end('<!doctype html><title>Shop</title><h1>The shop at ' + req.url + '</h1>');
}).listen(${PORT}, '127.0.0.1')`;

suite('a stopped preview, in a browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let run: MadeRun;
  let preview: StartedPreview;
  let page: Page;
  beforeAll(async () => {
    const settings = { ...PEOPLE, Sandbox__Preview__ReadyTimeoutSeconds: '60' };
    [porthole, browser] = await Promise.all([startTestHost(settings), launchChromium()]);
    run = await makeRun(porthole, ALICE);
    const body = { argv: ['node', '-e', APP], port: PORT };
    await porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/web`, { body, token: ALICE });
    preview = await startPreview(porthole, run.runId, PORT, ALICE);
    expect(preview.ready).toBe(true);
  });
  afterAll(async () => {
    await browser.close();
    await porthole.end();
  });
  beforeEach(async () => {
    for (const context of browser.contexts()) await context.close();
    page = await (await browser.newContext()).newPage();
    await porthole.call('POST', `/v1/sandbox/${run.sandboxId}/stop`, { token: ALICE });
  });

  const call = (method: string, path: string, body?: unknown) =>
    porthole.call(method, `/v1/previews/${preview.session_id}${path}`, { token: ALICE, body });
  const url = (path = '/') => new URL(path, preview.preview_url ?? '').href;
  const state = async () => (await porthole.host.services.sandboxes.inspect(run.sandboxId)).state;
  const heading = (name: string) => page.getByRole('heading', { name, exact: true });
  async function signIn(key: string): Promise<void> {
    await page.getByPlaceholder('Your key').fill(key);
    await page.getByRole('button', { name: 'Sign in with a key' }).click();
  }

  test.each([
    ['org', CAROL],
    ['link', ALICE],
  ])('at %s, becomes the app at the path that was asked for', async (level, key) => {
    await call('PUT', '/access', { level });
    await page.goto(url('/cart?a=b'));
    await signIn(key);
    await heading('The shop at /cart?a=b').waitFor();
    expect(page.url()).toBe(url('/cart?a=b'));
  });

  test('becomes the app without a sign-in for a person who has a visit', async () => {
    await call('PUT', '/access', { level: 'org' });
    await page.goto(url());
    await signIn(CAROL);
    await heading('The shop at /').waitFor();
    await porthole.call('POST', `/v1/sandbox/${run.sandboxId}/stop`, { token: ALICE });
    await page.goto(url('/again'));
    await heading('The shop at /again').waitFor();
  });

  test('becomes the app by the button for who has a link that may start it', async () => {
    await call('PUT', '/access', { level: 'owner' });
    const link = (await call('POST', '/links', { label: 'for dave', may_wake: true })).json<{
      url: string;
    }>();
    await page.goto(link.url);
    await heading('This preview is stopped').waitFor();
    expect(await state()).toBe('stopped');
    await page.getByRole('button', { name: 'Start the preview' }).click();
    await heading('The shop at /').waitFor();
  });

  test('stays stopped for a person whom it is not open to', async () => {
    await call('PUT', '/access', { level: 'org' });
    await page.goto(url());
    await signIn(BOB);
    await heading('You cannot open this preview').waitFor();
    expect(await state()).toBe('stopped');
  });

  test('stays stopped for who has a link that may not start it', async () => {
    const link = (await call('POST', '/links', { label: 'for erin' })).json<{ url: string }>();
    await page.goto(link.url);
    await heading('This preview is stopped').waitFor();
    await page.getByText('Ask its owner to start it').waitFor();
    expect(await page.getByRole('button').allInnerTexts()).toEqual(['Try again']);
    expect(await state()).toBe('stopped');
  });
});
