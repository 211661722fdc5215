import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { makeRun } from '#test/host/support/runs.ts';
import { violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

export function commandMenu(here: ConsoleSuite): void {
  describe('the commands of the console', () => {
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
      await makeRun(here.porthole, undefined, { title: 'Rebuild the pricing page' });
      page = await here.browser.newPage({ colorScheme: 'light' });
      await page.goto(`${here.porthole.host.url}/sandboxes`);
      await page.getByRole('heading', { name: 'Sandboxes', exact: true }).waitFor();
    });
    afterAll(() => page?.context().close());

    test('find a run by its title, and a pane of it', async () => {
      await page.keyboard.press('ControlOrMeta+k');
      await page.getByRole('menuitem', { name: 'Rebuild the pricing page' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
      await pick('pricing');
      await page.getByRole('heading', { level: 1, name: 'Rebuild the pricing page' }).waitFor();
      await pick('show the timeline');
      await page.locator('[data-pane="timeline"]').waitFor();
      await pick('show the files');
      await page.locator('[data-pane="files"]').waitFor();
      await pick('show the preview');
      await page.locator('[data-pane="files"]').waitFor({ state: 'hidden' });
    });

    test('choose light or dark, and keep it after a reload', async () => {
      const light = await background();
      await pick('dark colours');
      const dark = await background();
      expect(dark).not.toBe(light);
      expect(await violations(page)).toEqual([]);
      await page.reload();
      await page.getByRole('heading', { level: 1 }).waitFor();
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
}
