import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE } from '#test/host/support/people.ts';
import { listed, makeKey, statusWith } from '#test/host/support/api-keys.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { startWebhookReceiver } from '#test/support/webhook-receiver.ts';
import { violations } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

suite('the settings of the console, in a real browser', chromiumMissing, () => {
  const here = consoleSuite({
    ...PEOPLE,
    PORTHOLE_WEBHOOK_ALLOW: '127.0.0.0/8',
    PORTHOLE_FEEDBACK_URL: 'https://feedback.example.com/',
    PORTHOLE_QUOTAS: JSON.stringify({ default: { sandboxes: 12, runs: 4 } }),
  });
  let context: BrowserContext;
  let page: Page;

  const signIn = async (key: string) => {
    const opened = await here.browser.newContext({ locale: 'en-US', timezoneId: 'UTC' });
    const first = await opened.newPage();
    await first.goto(here.porthole.host.url);
    await first.getByLabel('API key').fill(key);
    await first.getByRole('button', { name: 'Sign in' }).click();
    await first.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    return { context: opened, page: first };
  };
  const open = (path: string) => page.goto(`${here.porthole.host.url}/settings${path}`);

  beforeAll(async () => {
    ({ context, page } = await signIn(ALICE));
  });
  afterAll(() => context?.close());

  describe('keys', () => {
    beforeEach(async () => {
      for (const { key_id: id } of await listed(here.porthole, ALICE))
        await here.porthole.call('DELETE', `/api/keys/${id}`, { token: ALICE });
      await open('/keys');
      await page.getByText('No keys yet').waitFor();
    });

    test('creates a key, shows it once, and revokes it', async () => {
      await page.getByRole('button', { name: 'New key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Nightly build');
      await page.getByRole('button', { name: /^Full access/ }).click();
      await page.getByRole('option', { name: 'Read only' }).click();
      await page.getByText('Changes nothing.').waitFor();
      await page.getByRole('button', { name: 'Create key' }).click();
      const shown = page.getByRole('group', { name: 'The key' });
      const key = (await shown.textContent()) ?? '';
      expect(key).toMatch(/^porthole_[0-9a-f]{48}$/);
      // A press on the page behind must not lose it.
      await page.mouse.click(5, 5);
      await shown.waitFor();
      await page.getByRole('button', { name: 'Copy key' }).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      await page.getByRole('button', { name: 'Done' }).click();
      const row = page.getByRole('row', { name: /Nightly build/ });
      await row.getByText('never').waitFor();
      expect(await page.content()).not.toContain(key);
      expect([await row.getByText('Read only').count(), await statusWith(here.porthole, key)]).toEqual([
        2, 200,
      ]);
      await row.getByRole('button', { name: 'Revoke Nightly build' }).click();
      await page.getByRole('button', { name: 'Revoke key' }).click();
      await page.getByText('No keys yet').waitFor();
      expect(await statusWith(here.porthole, key)).toBe(401);
    });

    test('shows why a key is not created', async () => {
      await Promise.all(Array.from({ length: 50 }, () => makeKey(here.porthole, ALICE)));
      await page.getByRole('button', { name: 'New key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('One more');
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('alert').getByText('You have 50 keys, the maximum: revoke one.').waitFor();
    });

    test('shows an admin the keys of everyone', async () => {
      await makeKey(here.porthole, ALICE, { name: 'A key of Alice' });
      const ada = await signIn(ADA_ADMIN);
      await ada.page.goto(`${here.porthole.host.url}/settings/keys`);
      await ada.page.getByText('No keys yet').waitFor();
      await ada.page.getByText('Show everyone’s keys').click();
      await ada.page.getByRole('row', { name: /A key of Alice.*alice acme/ }).waitFor();
      await ada.context.close();
      await page.getByRole('button', { name: 'New key' }).waitFor();
      expect(await page.getByText('Show everyone’s keys').count()).toBe(0);
    });
  });

  test('says who the person is', async () => {
    await open('');
    await page.getByText('acme', { exact: true }).waitFor();
    expect(await page.getByText('Member', { exact: true }).count()).toBe(1);
  });

  test('keeps the theme', async () => {
    await open('');
    await page.getByText('Dark', { exact: true }).click();
    const theme = () => page.evaluate('document.documentElement.dataset.theme');
    expect(await theme()).toBe('dark');
    await page.reload();
    await page.getByRole('radio', { name: 'Dark', checked: true }).waitFor({ state: 'attached' });
    expect(await theme()).toBe('dark');
    await page.getByText('System', { exact: true }).click();
    expect(await theme()).toBeUndefined();
  });

  test('writes times in the chosen language and clock', async () => {
    await open('');
    const example = page.locator('#time-example');
    expect(await example.textContent()).toBe('11/29/2026, 2:05:00 PM');
    await page.getByText('24 hours', { exact: true }).click();
    expect(await example.textContent()).toBe('11/29/2026, 14:05:00');
    await page.getByRole('button', { name: /^Browser/ }).click();
    await page.getByRole('option', { name: 'Deutsch' }).click();
    expect(await example.textContent()).toBe('29.11.2026, 14:05:00');
    await page.reload();
    await page.getByText('29.11.2026, 14:05:00').waitFor();
  });

  test('creates a webhook, shows its deliveries, and deletes it', async () => {
    const receiver = await startWebhookReceiver();
    try {
      await open('/webhooks');
      await page.getByText('No webhooks yet').waitFor();
      await page.getByRole('button', { name: 'New webhook' }).click();
      await page.getByLabel('URL').fill(receiver.url);
      await page.getByText('Keys', { exact: true }).last().click();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Create webhook' }).click();
      const secret = (await page.getByRole('group', { name: 'The secret' }).textContent()) ?? '';
      await page.getByRole('button', { name: 'Done' }).click();
      await makeKey(here.porthole, ALICE, { name: 'CI', scope: 'read' });
      const [message] = await receiver.until(1);
      expect(new Webhook(secret).verify(message?.body ?? '', message?.headers ?? {})).toMatchObject({
        type: 'key.created',
      });
      await page.getByRole('button', { name: `Deliveries to 127.0.0.1:${receiver.port}` }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('row', { name: /key.created.*delivered/ }).waitFor();
      await dialog.getByRole('button', { name: 'Send a test event' }).click();
      await dialog.getByRole('row', { name: /webhook.test.*delivered/ }).waitFor();
      await dialog
        .getByRole('row', { name: /key.created/ })
        .getByRole('button', { name: 'Send again' })
        .click();
      await receiver.until(3);
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Done' }).click();
      await page.getByRole('row', { name: /Keys .* works/ }).waitFor();
      await page.getByRole('button', { name: /^Delete 127/ }).click();
      await page.getByRole('button', { name: 'Delete webhook' }).click();
      await page.getByText('No webhooks yet').waitFor();
    } finally {
      await receiver.close();
    }
  });

  test('turns notifications on and off', async () => {
    // Headless browsers deny it.
    await page.addInitScript("Object.defineProperty(Notification, 'permission', { get: () => 'granted' })");
    await open('');
    await page.getByRole('button', { name: 'Turn off notifications' }).click();
    await page.getByText('This browser does not notify you.').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Turn on notifications' }).click();
    await page.getByText('This browser notifies you').waitFor();
  });

  test('shows usage beside its limits', async () => {
    await open('/usage');
    await page.getByRole('meter', { name: 'Sandboxes' }).getByText('0 of 12').waitFor();
    await page.getByRole('meter', { name: 'Active runs' }).getByText('0 of 4').waitFor();
  });

  test('shows what sandboxes have used, by what is chosen', async () => {
    const made = await here.porthole.call('POST', '/v1/sandbox', { token: ALICE, body: {} });
    const { id } = made.json<{ id: string }>();
    await here.porthole.call('POST', `/v1/sandbox/${id}/stop`, { token: ALICE, body: {} });
    await open('/usage');
    const table = page.getByRole('region', { name: 'Last 30 days' }).getByRole('table');
    await table.getByText(new Date().toISOString().slice(0, 10)).waitFor();
    await page.getByRole('radio', { name: 'Sandbox' }).check({ force: true });
    await table.getByText(id).waitFor();
    expect(await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')).toBe(
      '/v1/usage?by=sandbox&format=csv',
    );
    expect(await page.getByRole('radio', { name: 'Owner' }).count()).toBe(0);
  });

  test('says what this installation is, and how it isolates only to admins', async () => {
    await open('/about');
    await page.getByText('Porthole 0.2.0').waitFor();
    await page.getByText('Processes on one machine').waitFor();
    expect(await page.getByText(/^local, /).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Send feedback' }).getAttribute('href')).toBe(
      'https://feedback.example.com/',
    );
    const link = (name: string) => page.getByRole('link', { name, exact: true });
    expect(await link('Documentation').getAttribute('href')).toBe('/docs');
    expect(await link('More documentation').count()).toBe(0);
    await page.getByText(/^\d+ packages in this console$/).click();
    await page.getByText('react-aria-components').waitFor();
    const ada = await signIn(ADA_ADMIN);
    await ada.page.goto(`${here.porthole.host.url}/settings/about`);
    await ada.page
      .getByText(/^local, /)
      .first()
      .waitFor();
    await ada.page.getByText('Database', { exact: true }).waitFor();
    await ada.page.getByText(/answers in \d+ ms$/).waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await ada.context.close();
  });

  test('shows warnings with what to do', async () => {
    const warning = 'The database does not answer: look at its state and at DATABASE_URL.';
    await page.route('**/api/installation', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...((await answer.json()) as object), warnings: [warning] } });
    });
    await open('/about');
    await page.getByText('1 warning').waitFor();
    await page.getByText(warning).waitFor();
    await page.unrouteAll();
  });

  test('shows admins the audit, the newest first, and that of one person', async () => {
    await open('/about');
    await page.getByRole('heading', { level: 1, name: 'About' }).waitFor();
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
    await makeKey(here.porthole, BOB);
    await here.porthole.call('GET', '/api/quota', { token: 'wrong-key-of-a-test' });
    const ada = await signIn(ADA_ADMIN);
    await ada.page.goto(`${here.porthole.host.url}/settings/audit`);
    await ada.page.getByRole('row', { name: /^key.created key\/\w+ bob/ }).waitFor();
    await ada.page
      .getByRole('row', { name: /^request.denied denied operation\/getQuota/ })
      .first()
      .waitFor();
    await ada.page.getByLabel('Person').fill('bob');
    await ada.page.getByRole('button', { name: 'Show', exact: true }).click();
    await ada.page
      .getByRole('row', { name: /^request.denied/ })
      .first()
      .waitFor({ state: 'detached' });
    await ada.page.getByRole('row', { name: /^key.created key\/\w+ bob/ }).waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await ada.context.close();
  });

  test('lists the people with runs that one may see, and lets an admin block their previews', async () => {
    const [own, carols] = await Promise.all([makeRun(here.porthole, ALICE), makeRun(here.porthole, CAROL)]);
    await makeRun(here.porthole, BOB);
    const row = (of: Page, name: RegExp) => of.getByRole('row', { name });
    await open('/people');
    await page.getByText('The configuration of this Porthole lists the people and the admins.').waitFor();
    await row(page, /^alice you, member acme 1 1 just now$/).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await here.porthole.call('PATCH', `/api/runs/${carols.runId}`, {
      token: CAROL,
      body: { sharing: 'view' },
    });
    await page.reload();
    await row(page, /^carol acme 1 1/).waitFor();
    expect(await page.getByRole('button', { name: /^Block/ }).count()).toBe(0);

    const ada = await signIn(ADA_ADMIN);
    await ada.page.goto(`${here.porthole.host.url}/settings/people`);
    await row(ada.page, /^ada you, admin ops 0 0 none/).waitFor();
    await row(ada.page, /^bob globex 1 1/).waitFor();
    await ada.page.getByRole('button', { name: 'Block previews of alice' }).click();
    await ada.page.getByLabel('Reason').fill('phishing');
    await ada.page.getByRole('button', { name: 'Block previews', exact: true }).click();
    await row(ada.page, /^alice previews blocked by ada just now: “phishing” acme/).waitFor();
    expect(await violations(ada.page)).toEqual([]);
    const start = async () =>
      (
        await here.porthole.call('POST', `/api/runs/${own.runId}/sandbox/port-forward`, {
          token: ALICE,
          body: { target_port: 3471 },
        })
      ).status;
    expect(await start()).toBe(403);
    await ada.page.getByRole('button', { name: 'Allow previews of alice' }).click();
    await ada.page.getByRole('button', { name: 'Allow previews', exact: true }).click();
    await row(ada.page, /^alice acme/).waitFor();
    expect(await start()).toBe(200);
    await ada.context.close();
  });

  test('has no other part', async () => {
    await open('/members');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  });
});
