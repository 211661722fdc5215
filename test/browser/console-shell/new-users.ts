import { expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startTestHost } from '#test/support/in-process-host.ts';
import { decide, LOOKS, violations } from '../support/console-fixture.ts';

const MINUTE = 60_000;

/** The first minutes of new users, each on a new host. */
export function newUsers(browser: () => Browser): void {
  test('leads a new user to a run with the configuration of their agent', async () => {
    const fresh = await startTestHost();
    const page = await browser().newPage();
    try {
      await page.goto(fresh.host.url);
      await page.getByRole('button', { name: 'Connect my agent' }).click();
      await page.getByRole('heading', { level: 1, name: 'My agent' }).waitFor();
      const panel = page.getByRole('region', { name: 'Connect your agent' });
      await panel.getByText('Waiting for your agent…').waitFor();
      await panel.getByRole('group', { name: 'Configuration for Claude Code' }).waitFor();
    } finally {
      await page.close();
      await fresh.end();
    }
  });

  test.each(['light', 'a phone'] as const)(
    'leads a new user in %s from an empty console to an app that works, and a comment on it',
    async (look) => {
      const fresh = await startTestHost();
      const context = await browser().newContext(LOOKS[look]);
      const page = await context.newPage();
      const preview = page.getByRole('article', { name: 'Preview of port 3000' });
      try {
        await page.goto(fresh.host.url);
        expect(await violations(page)).toEqual([]);
        await page.getByRole('button', { name: 'Try it' }).click();
        await page.getByRole('heading', { level: 1, name: 'A first preview' }).waitFor();
        const { pathname } = new URL(page.url());
        await decide(page.locator('.approval'), 'Approve once');
        await page.frameLocator('iframe').getByText('Hello through the porthole').waitFor();

        await preview.getByRole('button', { name: 'Page check' }).click();
        await preview.getByRole('button', { name: 'Check page' }).click();
        await preview.getByText('Works', { exact: true }).waitFor();

        const comment = page.getByRole('button', { name: 'Comment on port 3000', exact: true });
        if (!(await comment.isVisible()))
          await page.getByRole('button', { name: 'Comments', exact: true }).click();
        await comment.click();
        const dialog = page.getByRole('dialog');
        const picture = dialog.getByRole('button', { name: 'Port 3000, /', exact: true });
        const { width } = (await picture.boundingBox()) ?? { width: 0 };
        // The heading is above the middle of a page of 1,280 by 800 px.
        const scale = width / 1_280;
        await picture.click({ position: { x: 640 * scale, y: 355 * scale } });
        await dialog.getByText('Pinned to heading “Hello through the porthole”').waitFor();
        await dialog.getByLabel('Comment', { exact: true }).fill('Say good morning');
        await dialog.getByRole('button', { name: 'Send', exact: true }).click();
        await page.getByText('Say good morning').waitFor();
        expect(new URL(page.url()).pathname).toBe(pathname);
        const inbox = await fresh.call('GET', `/api${pathname}/inbox`);
        expect(inbox.json()).toMatchObject({
          messages: [{ text: 'Say good morning', pin: { role: 'heading', port: 3000, path: '/' } }],
        });
      } finally {
        await context.close();
        await fresh.end();
      }
    },
    2 * MINUTE,
  );
}
