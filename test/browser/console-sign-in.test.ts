import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type OidcIssuer, startOidcIssuer } from '#test/host/support/oidc-issuer.ts';
import { makeRun, startPreview } from '#test/host/support/runs.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, violations } from './support/console-fixture.ts';
import { type HttpsFront, startHttpsFront } from './support/https-front.ts';

const ALICE = 'a-key-of-alice-0123';
const BOB = 'a-key-of-bob-012345';
/** Previews are below the console's own host name: same-site, which `SameSite` allows. */
const NAME = 'porthole.localhost';
const COOKIE = '__Host-porthole-session';

suite('signing in to the console, over https in a real browser', chromiumMissing, () => {
  let issuer: OidcIssuer;
  let front: HttpsFront;
  let porthole: TestHost;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let url: string;

  beforeAll(async () => {
    ensureConsoleBuilt();
    [issuer, front, browser] = await Promise.all([
      startOidcIssuer(),
      startHttpsFront([NAME, `*.${NAME}`]),
      launchHeadlessShell(),
    ]);
    url = `https://${NAME}:${front.port}`;
    porthole = await startTestHost({
      PORTHOLE_PUBLIC_URL: url,
      Sandbox__Preview__ZoneSuffix: NAME,
      PORTHOLE_API_KEYS: JSON.stringify({
        [ALICE]: { user: 'alice', org: 'acme' },
        [BOB]: { user: 'bob', org: 'acme' },
      }),
      OIDC_ISSUER: issuer.url,
      OIDC_AUDIENCE: 'porthole',
      OIDC_CLIENT_ID: 'console',
    });
    front.leadTo(porthole.host.port);
  });
  beforeEach(async () => {
    issuer.vouchFor({ sub: 'carol', org: 'acme', aud: 'console' });
    context = await browser.newContext({ ignoreHTTPSErrors: true });
    page = await context.newPage();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
    await Promise.all([front?.close(), issuer?.close()]);
  });

  const atProvider = () => page.getByRole('button', { name: 'Continue with your identity provider' });
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true });

  async function signInAs(key: string): Promise<void> {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  /** The API's identity of the console's own page. */
  const who = () => page.evaluate("fetch('/api/session').then((it) => it.json())");

  describe('at an identity provider', () => {
    test('leads back to the page that was asked for, with a cookie that is this host’s alone', async () => {
      await page.goto(`${url}/sandboxes?from=mail#top`);
      await heading('Sign in').waitFor();
      expect(await page.title()).toBe('Sign in · Porthole');
      await atProvider().click();
      await heading('Sandboxes').waitFor();
      expect(page.url()).toBe(`${url}/sandboxes?from=mail#top`);
      expect(await who()).toMatchObject({ user: 'carol', org: 'acme', admin: false });
      const [cookie] = (await context.cookies()).filter(({ name }) => name === COOKIE);
      expect(cookie).toMatchObject({
        domain: NAME,
        path: '/',
        secure: true,
        httpOnly: true,
        sameSite: 'Strict',
      });
      expect(await page.evaluate('document.cookie')).toBe('');
    });

    test('ends with signing out, which takes the cookie away', async () => {
      await page.goto(url);
      await atProvider().click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await heading('Sign in').waitFor();
      expect((await context.cookies()).filter(({ name }) => name === COOKIE)).toEqual([]);
    });

    test.each<[string, Record<string, string>, string]>([
      [
        'a person who is refused there',
        { error: 'access_denied' },
        'refused the sign-in, or you cancelled it',
      ],
      ['one whom it tells of an error', { error: 'server_error' }, 'reports an error'],
      [
        'one with the issuer of another provider',
        { code: 'x', iss: 'https://evil.test' },
        'not from the identity provider',
      ],
      [
        'one with the answer to another sign-in',
        { code: 'x', state: 'another' },
        'belongs to another sign-in',
      ],
      ['one with a code that it does not know', { code: 'made-up' }, 'isn’t valid'],
    ])('tells %s why, on the page that was asked for', async (_name, answer, words) => {
      issuer.vouchFor({}, answer);
      await page.goto(`${url}/tools`);
      await atProvider().click();
      await page.getByRole('alert').getByText(words).waitFor();
      expect(page.url()).toBe(`${url}/tools`);
      expect(await violations(page)).toEqual([]);
      issuer.vouchFor({ sub: 'carol', org: 'acme', aud: 'console' });
      await atProvider().click();
      await heading('Tools').waitFor();
    });

    test('tells who comes back too late that it was too late', async () => {
      await page.goto(`${url}/api/session/oidc/callback?code=x&state=y`);
      await page.getByRole('alert').getByText('took longer than ten minutes').waitFor();
      expect(page.url()).toBe(`${url}/`);
    });
  });

  describe('a session that ends in the middle of work', () => {
    beforeEach(async () => {
      await page.goto(`${url}/sandboxes`);
      await signInAs(ALICE);
      await page.getByRole('button', { name: 'Filters' }).click();
      await page.getByLabel('Tag').fill('team:blue');
      await page.evaluate("document.getElementById('page').dataset.seenBy = 'alice'");
      await context.clearCookies();
      await heading('Sign in again').waitFor();
    });

    test('gives the page back as it was once its person has signed in', async () => {
      expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
      expect(await page.getByLabel('Tag').isVisible()).toBe(false);
      expect(await violations(page)).toEqual([]);
      await signInAs(ALICE);
      await heading('Sandboxes').waitFor();
      expect(await page.getByLabel('Tag').inputValue()).toBe('team:blue');
      expect(await page.locator('[data-seen-by="alice"]').count()).toBe(1);
      expect(await page.evaluate('document.activeElement.id')).toBe('page');
      expect(await page.title()).toBe('Sandboxes · Porthole');
    });

    test('shows nothing of it to another person', async () => {
      await signInAs(BOB);
      await page.getByText('bob').waitFor();
      expect(await page.locator('[data-seen-by="alice"]').count()).toBe(0);
    });

    test('goes on after a sign-in in another tab', async () => {
      const [other] = await Promise.all([context.waitForEvent('page'), atProvider().click()]);
      await other.getByRole('heading', { level: 1, name: 'Sandboxes' }).waitFor();
      expect(await other.evaluate('window.opener')).toBeNull();
    });
  });

  describe('a preview, which is of the same site,', () => {
    let hostile: string;
    let mark: number;
    let sandboxId: string;
    let before: number;

    const runs = async () =>
      (await porthole.call('GET', '/api/runs', { token: ALICE })).json<{ runs: object[] }>().runs.length;
    const refused = async () => {
      // After a complete exchange, all earlier requests are in the log.
      await runs();
      return porthole.logged
        .slice(mark)
        .map((line) => JSON.parse(line) as { msg: string; operation?: string; status?: number })
        .filter(
          ({ msg, status = 0, operation }) => msg === 'request' && status >= 400 && operation !== 'unmatched',
        )
        .map(({ operation, status }) => `${operation} ${status}`);
    };

    beforeAll(async () => {
      const run = await makeRun(porthole, ALICE);
      sandboxId = run.sandboxId;
      const server =
        "require('http').createServer((_, r) => { r.setHeader('content-type', 'text/html'); r.end('<h1>hostile</h1>'); }).listen(3000)";
      await porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/workspace/s.js`, {
        token: ALICE,
        body: server,
      });
      await porthole.call('POST', `/v1/sandbox/${sandboxId}/exec`, {
        token: ALICE,
        body: { argv: ['sh', '-c', '(node s.js > log 2>&1 &)'], cwd: '/workspace' },
      });
      const preview = await startPreview(porthole, run.runId, 3000, ALICE);
      hostile = preview.preview_url ?? '';
    });
    beforeEach(async () => {
      await page.goto(url);
      await signInAs(ALICE);
      await heading('Runs').waitFor();
      const other = await context.newPage();
      await page.close();
      page = other;
      await page.goto(hostile);
      await page.getByRole('heading', { name: 'hostile' }).waitFor();
      mark = porthole.logged.length;
      before = await runs();
    });

    test('is of the same site, and not of the same origin', () => {
      expect(new URL(hostile).hostname).toMatch(/-preview\.porthole\.localhost$/);
      expect(new URL(hostile).protocol).toBe('https:');
    });

    test.each<[string, (to: string) => string, string]>([
      ['read with fetch', (to) => `fetch('${to}/api/runs', { credentials: 'include' })`, 'listRuns 403'],
      [
        'read without asking',
        (to) => `fetch('${to}/api/runs', { credentials: 'include', mode: 'no-cors' })`,
        'listRuns 403',
      ],
      [
        'change with fetch',
        (to) =>
          `fetch('${to}/api/runs', { method: 'POST', credentials: 'include', mode: 'no-cors', body: '{}' })`,
        'createRun 403',
      ],
      [
        'follow what waits',
        (to) =>
          `new Promise((done) => { new EventSource('${to}/api/approvals/events', { withCredentials: true }).onerror = done; })`,
        'followApprovals 403',
      ],
      [
        'load an answer as a script',
        (to) =>
          `new Promise((done) => { const it = document.createElement('script'); it.src = '${to}/api/runs'; it.onerror = done; document.head.append(it); })`,
        'listRuns 403',
      ],
      [
        'frame the console',
        (to) =>
          `new Promise((done) => { const it = document.createElement('iframe'); it.src = '${to}/'; it.onload = done; document.body.append(it); })`,
        'getHome 403',
      ],
      [
        'sign in as another user',
        (to) =>
          `fetch('${to}/api/session', { method: 'POST', credentials: 'include', mode: 'no-cors', body: '{"key":"${BOB}"}' })`,
        'signIn 403',
      ],
      [
        'sign the person out',
        (to) => `fetch('${to}/api/session', { method: 'DELETE', credentials: 'include' })`,
        '',
      ],
    ])('cannot %s', async (_name, script, line) => {
      await page.evaluate(`Promise.race([${script(url)}]).then(() => undefined, () => undefined)`);
      expect(await refused()).toEqual(line === '' ? [] : [line]);
      expect(await runs()).toBe(before);
      await page.goto(url);
      expect(await who()).toMatchObject({ user: 'alice', org: 'acme', admin: false });
    });

    test('cannot open a terminal', async () => {
      const socket = `wss://${new URL(url).host}/v1/sandbox/${sandboxId}/pty`;
      const ended = await page.evaluate(
        `new Promise((done) => { const it = new WebSocket('${socket}'); it.onopen = () => done('open'); it.onerror = () => done('refused'); })`,
      );
      expect(ended).toBe('refused');
    });

    test('cannot make a change with a form', async () => {
      await Promise.all([
        page.waitForURL(`${url}/api/runs`),
        page.evaluate(`{
          document.body.innerHTML = '<form method="post" action="${url}/api/runs" enctype="text/plain"><input name="{" value="}"></form>';
          document.forms[0].submit();
        }`),
      ]);
      expect(JSON.parse((await page.textContent('body')) ?? '')).toMatchObject({
        code: 'origin_not_allowed',
      });
      expect(await runs()).toBe(before);
    });

    test('cannot replace the session of the user by its own', async () => {
      const sealed = (await porthole.call('POST', '/api/session', { body: { key: BOB } })).headers[
        'set-cookie'
      ]?.[0];
      const value = (sealed ?? '').split(';', 1)[0]?.split('=')[1] ?? '';
      await page.evaluate(`{
        document.cookie = '${COOKIE}=${value}; Domain=${NAME}; Path=/; Secure';
        document.cookie = '${COOKIE}=${value}; Domain=${NAME}; Path=/api; Secure';
        document.cookie = 'porthole-session=${value}; Domain=${NAME}; Path=/; Secure';
      }`);
      await page.goto(url);
      expect(await who()).toMatchObject({ user: 'alice', org: 'acme', admin: false });
    });

    test('cannot end a sign-in that the person has not begun', async () => {
      await page.evaluate(`location.href = '${url}/api/session/oidc/callback?code=theirs&state=theirs'`);
      await page.waitForURL((at) => at.origin === url);
      expect(await who()).toMatchObject({ user: 'alice', org: 'acme', admin: false });
    });
  });
});
