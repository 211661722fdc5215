import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { ALICE, CAROL, PEOPLE } from '#test/host/support/people.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, violations, watch } from './support/console-fixture.ts';

suite('a shared run in the console', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let run: MadeRun;
  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(PEOPLE), launchHeadlessShell()]);
    run = await makeRun(porthole, ALICE, { title: 'Shop' });
    const of = `/v1/sandbox/${run.sandboxId}`;
    await porthole.call('PUT', `${of}/file/workspace/notes.txt`, { token: ALICE, body: 'hello\n' });
    await porthole.call('POST', `${of}/processes`, {
      token: ALICE,
      body: { argv: ['sleep', '600'], name: 'worker' },
    });
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));

  const share = (sharing: string) =>
    porthole.call('PATCH', `/api/runs/${run.runId}`, { token: ALICE, body: { sharing } });
  async function openAs(key: string, path = `/runs/${run.runId}`): Promise<Page> {
    const page = await (await browser.newContext({ viewport: { width: 1600, height: 1000 } })).newPage();
    await page.goto(`${porthole.host.url}${path}`);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: /^(Shop|[a-z]+-[a-z]+)$/ }).waitFor();
    return page;
  }

  test('offers a viewer nothing that the API refuses, and says why', async () => {
    await share('view');
    const page = await openAs(CAROL, `/runs/${run.runId}?pane=files`);
    const { problems } = watch(page);
    const show = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const files = page.getByRole('region', { name: 'Files' }).last();
    await files.getByText('You can only view this run. Ask alice to let you work in it.').waitFor();
    for (const name of ['New file', 'New folder', 'Upload files']) {
      expect(await files.getByRole('button', { name }).count()).toBe(0);
    }
    await files.getByRole('button', { name: 'Actions for notes.txt' }).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Download']);
    await page.keyboard.press('Escape');
    await page.goto(`${porthole.host.url}/runs/${run.runId}?file=/workspace/notes.txt`);
    const code = page.getByRole('textbox', { name: /^Text of .*notes\.txt$/ });
    await code.getByText('hello').waitFor();
    expect(await code.getAttribute('aria-readonly')).toBe('true');
    expect(await page.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0);
    await show('Logs');
    await page.getByRole('button', { name: 'Log of worker' }).waitFor();
    expect(await page.getByRole('button', { name: 'Stop worker' }).count()).toBe(0);
    await show('Terminal');
    await page.getByText('Terminals are for those who may work in this run').waitFor();
    await page.getByText(/^Previews that are started appear here\. You can only view/).waitFor();
    expect(await page.getByRole('button', { name: 'Share' }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    expect(problems).toEqual([]);

    await share('work');
    await show('Files');
    await page.reload();
    await files.getByRole('button', { name: 'Save', exact: true }).waitFor();
    await show('Logs');
    await page.getByRole('button', { name: 'Stop worker' }).waitFor();
  });

  test('offers a colleague on the page of its sandbox what the API permits', async () => {
    await share('view');
    const page = await openAs(CAROL, `/sandboxes/${run.sandboxId}`);
    const { problems } = watch(page);
    const button = (name: string | RegExp) => page.getByRole('button', { name });
    const why = 'You can only view this sandbox. Ask alice to let you work in it.';
    await page.getByText('Terminals are for those who may work in this sandbox').waitFor();
    await page.getByRole('region', { name: 'Files' }).last().getByText(why).waitFor();
    await page.getByText('alice lets you view it').waitFor();
    await button('Logs').click();
    await button('Log of worker').waitFor();
    for (const name of [/^(Stop|Delete) /, 'New file', 'Upload files', 'Change the network']) {
      expect([name, await button(name).count()]).toEqual([name, 0]);
    }
    expect(await page.getByRole('heading', { name: 'Shared' }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);

    await share('work');
    await button('Stop worker').waitFor();
    await button('Files').click();
    await button('Upload files').waitFor();
    await page.getByText('Connected').waitFor();
    expect(await button(/^Delete /).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test('tells the owner what the organisation can do', async () => {
    await share('private');
    const page = await openAs(ALICE);
    await page.getByRole('button', { name: 'Share run', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Share this run' });
    await dialog.getByRole('button', { name: /People of your organisation/ }).click();
    await page.getByRole('option', { name: 'Can work' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your organisation can work in it').waitFor();
    await page.getByRole('button', { name: 'Details', exact: true }).click();
    await page.getByText('Can work', { exact: true }).waitFor();
    expect(await page.locator('.page-head .state').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  });

  test('shows who else has it open, and no longer once the tab is closed', async () => {
    await share('work');
    const [own, other] = await Promise.all([openAs(ALICE), openAs(CAROL)]);
    await other.locator('.viewers').getByText('alice').waitFor();
    await own.locator('.viewers').getByText('carol').waitFor();
    expect(await own.locator('.viewers').getByRole('listitem').count()).toBe(1);
    expect(await violations(own)).toEqual([]);
    await other.context().close();
    await own.locator('.viewers').waitFor({ state: 'detached', timeout: 120_000 });
  }, 180_000);
});
