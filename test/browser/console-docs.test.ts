import { beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { LOOKS, watch } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

suite('the documentation in the console', chromiumMissing, () => {
  const here = consoleSuite({}, LOOKS['a phone']);
  let page: Page;
  beforeAll(async () => {
    page = await here.context.newPage();
  });

  const title = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();

  test('leads from the list to a page, to a heading of another, and back', async () => {
    await page.goto(here.porthole.host.url);
    await page.getByRole('link', { name: 'Docs', exact: true }).click();
    await title('Documentation');
    await page.getByRole('link', { name: 'Console', exact: true }).click();
    await title('Console');
    await page.locator('a[href="/docs/page-checks#comments"]').click();
    await title('Page checks and comments');
    await page.getByRole('heading', { name: 'Comments', exact: true }).waitFor();
    const top = await page.evaluate("document.getElementById('comments').getBoundingClientRect().top");
    expect(top).toBeLessThan(844);
    await page.goBack();
    await title('Console');
    await page.getByRole('link', { name: 'Docs', exact: true }).last().click();
    await title('Documentation');
  });

  test('has each page of the list, no wider than a phone, from its own origin', async () => {
    const watched = watch(page);
    await page.goto(`${here.porthole.host.url}/docs`);
    await title('Documentation');
    const links = page.locator('.docs a[href^="/docs/"]');
    const addresses = new Set(await links.evaluateAll((all) => all.map((a) => a.getAttribute('href') ?? '')));
    expect(addresses.size).toBeGreaterThan(50);
    const wide: string[] = [];
    for (const address of addresses) {
      await page.goto(here.porthole.host.url + address);
      await page.locator('.docs h1').waitFor();
      if (Number(await page.evaluate('document.documentElement.scrollWidth')) > 390) wide.push(address);
    }
    expect(wide).toEqual([]);
    expect(watched.problems).toEqual([]);
    expect([...watched.origins]).toEqual([new URL(here.porthole.host.url).origin]);
  }, 120_000);

  test('finds a page by its name', async () => {
    await page.keyboard.press('Control+K');
    await page.getByPlaceholder('Find a page, a run or a command').fill('claude');
    await page.getByRole('menuitem', { name: /^claude code/ }).click();
    await title('Claude Code');
  });

  test('says that a page is not there', async () => {
    await page.goto(`${here.porthole.host.url}/docs/unknown`);
    await title('There is no such page');
  });
});
