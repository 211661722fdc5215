import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, violations } from './support/console-fixture.ts';

suite('the commands of the console, in a real browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let page: Page;
  const pick = async (words: string) => {
    // In a terminal, the key is the shell's.
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByPlaceholder('Find a page, a run or a command').fill(words);
    await page.getByRole('menuitem').first().click();
  };
  const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(), launchHeadlessShell()]);
    await makeRun(porthole, undefined, { title: 'Rebuild the pricing page' });
    page = await browser.newPage({ colorScheme: 'light' });
    await page.goto(`${porthole.host.url}/sandboxes`);
    await page.getByRole('heading', { name: 'Sandboxes', exact: true }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  test('find a run by its title, and a pane of it', async () => {
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('menuitem', { name: 'Rebuild the pricing page' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
    await pick('pricing');
    await page.getByRole('heading', { level: 1, name: 'Rebuild the pricing page' }).waitFor();
    await pick('show timeline');
    await page.locator('[data-pane="preview"]').waitFor({ state: 'hidden' });
    await pick('all panes');
    await page.locator('[data-pane="preview"]').waitFor();
  });

  test('choose light or dark, and keep it after a reload', async () => {
    await page.getByText('Connected').waitFor();
    const light = await background();
    await pick('dark colours');
    const dark = await background();
    expect(dark).not.toBe(light);
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await page.getByText('Connected').waitFor();
    expect(await background()).toBe(dark);
    await pick('of the system');
    expect(await background()).toBe(light);
  });

  test('list the keys, unless a question mark is typed', async () => {
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('textbox', { name: 'Another port' }).focus();
    await page.keyboard.press('?');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});
