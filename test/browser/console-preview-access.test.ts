import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { ALICE, CAROL, PEOPLE } from '#test/host/support/people.ts';
import { type MadeRun, makeRun, type StartedPreview, startPreview } from '#test/host/support/runs.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { violations, watch } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

const PORT = 3413;
const APP = `require('node:http').createServer((req, res) => res.setHeader('content-type', 'text/html').end('<h1>Shop</h1>')).listen(${PORT}, '127.0.0.1')`;

suite('who may open a preview, in the console', chromiumMissing, () => {
  const here = consoleSuite(PEOPLE);
  let run: MadeRun;
  let preview: StartedPreview;
  let page: Page;
  beforeAll(async () => {
    run = await makeRun(here.porthole, ALICE);
    const body = { argv: ['node', '-e', APP], port: PORT };
    await here.porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/web`, { body, token: ALICE });
    await here.porthole.call('PATCH', `/api/runs/${run.runId}`, { body: { sharing: 'view' }, token: ALICE });
    preview = await startPreview(here.porthole, run.runId, PORT, ALICE);
    expect(preview.ready).toBe(true);
  });
  beforeEach(async () => {
    page = await openAs(ALICE);
  });
  afterEach(() => Promise.all(here.browser.contexts().map((context) => context.close())));

  async function openAs(key: string): Promise<Page> {
    const opened = await (await here.browser.newContext()).newPage();
    await opened.goto(`${here.porthole.host.url}/runs/${run.runId}`);
    await opened.getByLabel('API key').fill(key);
    await opened.getByRole('button', { name: 'Sign in', exact: true }).click();
    return opened;
  }

  const call = <T>(method: string, path: string, body?: unknown) =>
    here.porthole
      .call(method, `/v1/previews/${preview.session_id}${path}`, { token: ALICE, body })
      .then((answer) => answer.json<T>());

  /** The dialog of *Share* in the bar of the preview. */
  async function openShare(from = page) {
    await from
      .getByRole('article', { name: `Preview of port ${PORT}` })
      .getByRole('button', { name: 'Share' })
      .click();
    return from.getByRole('dialog', { name: `Share the preview of port ${PORT}` });
  }

  test('changes the level, with a password where it needs one, and shows the app again', async () => {
    const { problems } = watch(page);
    const share = await openShare();
    await share.getByText('Anyone with the link can see the app').waitFor();
    await share.getByRole('button', { name: 'Change who can see the app' }).click();
    const form = page.getByRole('dialog', { name: 'Who can see the app' });
    await form.getByText('Everyone who knows the password', { exact: true }).click();
    await form.locator('input[type=password]').fill('short');
    await form.getByRole('button', { name: 'Save' }).click();
    expect(await form.isVisible()).toBe(true);
    await form.locator('input[type=password]').fill('open sesame');
    expect(await violations(page)).toEqual([]);
    await form.getByRole('button', { name: 'Save' }).click();
    await share.getByText('Everyone who knows the password can see the app').waitFor();
    expect(await call('GET', '/access')).toMatchObject({ level: 'password' });
    await page.frameLocator('iframe').getByRole('heading', { name: 'Shop' }).waitFor();

    await share.getByRole('button', { name: 'Change who can see the app' }).click();
    await form.getByText('Only the owner and administrators', { exact: true }).click();
    await form.getByRole('button', { name: 'Save' }).click();
    await share.getByText('Only the owner and administrators can see the app').waitFor();
    expect(await violations(page)).toEqual([]);

    await share.getByRole('button', { name: 'Change who can see the app' }).click();
    await form.getByLabel('Name').fill('my-login');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('choose another name').waitFor();
    await form.getByLabel('Name').fill('shop-demo');
    await form.getByRole('button', { name: 'Save' }).click();
    const named = share.getByRole('link', { name: /^shop-demo-preview\.localhost/ });
    const [opened] = await Promise.all([page.waitForEvent('popup'), named.click()]);
    await opened.getByRole('heading', { name: 'Shop' }).waitFor();
    expect(opened.url()).toBe(`http://shop-demo-preview.localhost:${here.porthole.host.port}/`);
    await opened.close();
    await share.getByRole('button', { name: 'Change who can see the app' }).click();
    await form.getByLabel('Name').fill('');
    await form.getByRole('button', { name: 'Save' }).click();
    await named.waitFor({ state: 'detached' });
    expect(await call('GET', '/access')).toMatchObject({ level: 'owner', name: null });
    expect(problems).toEqual([expect.stringContaining('400 (Bad Request)')]);
  });

  test('makes a link that is shown once, lists its visits, and revokes it', async () => {
    await call('PUT', '/access', { level: 'owner' });
    const share = await openShare();
    await share.getByRole('button', { name: 'New link' }).click();
    await page.getByLabel('Label').fill('for carol');
    await page.getByLabel('Visits').fill('2');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create link' }).click();
    const shown = page.getByRole('group', { name: 'The link' });
    const url = (await shown.textContent()) ?? '';
    expect(url).toContain('#');
    await page.mouse.click(5, 5);
    await page.getByRole('button', { name: 'Copy link' }).last().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Done' }).click();
    const links = share.getByRole('list', { name: 'Links' });
    await links.getByText('2 of 2 visits left · until').waitFor();
    expect(await page.content()).not.toContain(url.split('#')[1]);

    const visitor = await (await here.browser.newContext()).newPage();
    await visitor.goto(url);
    await visitor.getByRole('heading', { name: 'Shop' }).waitFor();
    await links.getByText('1 of 2 visits left').waitFor();
    await share
      .getByRole('list', { name: 'Visitors' })
      .getByRole('listitem')
      .filter({ hasText: 'by for carol' })
      .waitFor();
    expect(await violations(page)).toEqual([]);

    await links.getByRole('button', { name: 'Revoke for carol' }).click();
    await page.getByRole('button', { name: 'Revoke link' }).click();
    await links.waitFor({ state: 'detached' });
    await visitor.reload();
    await visitor.getByRole('heading', { name: 'You cannot open this preview' }).waitFor();
    await share.getByText('by a revoked link').waitFor();
  });

  test('enters a preview once it is shown, and not with the page', async () => {
    await call('PUT', '/access', { level: 'owner' });
    const port = PORT + 700;
    const body = { argv: ['node', '-e', APP.replace(`${PORT}`, `${port}`)], port };
    await here.porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/other`, { body, token: ALICE });
    const other = await startPreview(here.porthole, run.runId, port, ALICE);
    const entered: unknown[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/api/open')) entered.push(request.postDataJSON());
    });
    await page.goto(`${here.porthole.host.url}/runs/${run.runId}?port=${PORT}`);
    await page.frameLocator('iframe').getByRole('heading', { name: 'Shop' }).waitFor();
    await page.getByRole('tab', { name: `:${port}` }).waitFor();
    expect(entered).toEqual([{ preview: preview.session_id }]);
    await page.getByRole('tab', { name: `:${port}` }).click();
    await page
      .getByRole('article', { name: `Preview of port ${port}` })
      .frameLocator('iframe')
      .getByRole('heading', { name: 'Shop' })
      .waitFor();
    expect(entered).toEqual([preview, other].map(({ session_id: id }) => ({ preview: id })));
    await here.porthole.call('DELETE', `/api/runs/${run.runId}/sandbox/port-forward/${other.session_id}`, {
      token: ALICE,
    });
  });

  test('disables the levels above the maximum, with the reason', async () => {
    await page.route('**/access', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), maximum: 'org' } });
    });
    const share = await openShare();
    await share.getByRole('button', { name: 'Change who can see the app' }).click();
    const refused = page.getByRole('radio', {
      name: /Above the maximum of this installation, “Organisation”/,
    });
    expect(await refused.count()).toBe(3);
    expect(await refused.first().isDisabled()).toBe(true);
    expect(await page.getByRole('radio', { name: /^Organisation/ }).isDisabled()).toBe(false);
  });

  test('leaves the decision to the owner', async () => {
    const share = await openShare(await openAs(CAROL));
    await share.getByText('alice decides who can see the app.').waitFor();
    expect(await share.getByRole('button', { name: 'New link' }).count()).toBe(0);
  });
});
