import { expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startTestHost } from '#test/support/in-process-host.ts';
import { decide, LOOKS, violations } from '../support/console-fixture.ts';

const MINUTE = 60_000;

interface Covered {
  readonly ownerDocument: {
    elementFromPoint(x: number, y: number): { closest(selector: string): unknown } | null;
  };
  scrollIntoView(): void;
  getBoundingClientRect(): { left: number; top: number; width: number; height: number };
}

/** The first minutes of new users, each on a new host. */
export function newUsers(browser: () => Browser): void {
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

  test(
    'a new user gets a tour of three steps, which covers no request and ends for good',
    async () => {
      const fresh = await startTestHost();
      const context = await browser().newContext(LOOKS['a phone']);
      const page = await context.newPage();
      const tour = page.getByRole('region', { name: 'Tour' });
      const press = async (name: string) => {
        await tour.getByRole('button', { name }).focus();
        await page.keyboard.press('Enter');
      };
      try {
        await page.goto(fresh.host.url);
        await tour.getByText('step 1 of 3').waitFor();
        await page.getByRole('button', { name: 'Try it' }).click();
        await tour.getByText('step 2 of 3').waitFor();
        await page.locator('.approval').waitFor();
        for (const viewport of [LOOKS['a phone'].viewport, LOOKS.light.viewport]) {
          await page.setViewportSize(viewport);
          expect(
            await page.locator('.approval button').evaluateAll((buttons) =>
              (buttons as unknown as Covered[]).every((each) => {
                each.scrollIntoView();
                const { left, top, width, height } = each.getBoundingClientRect();
                const found = each.ownerDocument.elementFromPoint(left + width / 2, top + height / 2);
                return found?.closest('.approval') !== null;
              }),
            ),
          ).toBe(true);
        }
        expect(await violations(page)).toEqual([]);
        await page.reload();
        await tour.getByText('step 2 of 3').waitFor();
        await press('Next');
        await tour.getByText('step 3 of 3').waitFor();
        await page.keyboard.press('Escape');
        await tour.waitFor({ state: 'detached' });
        expect(await page.evaluate('document.activeElement.id')).toBe('page');
        await page.reload();
        await page.getByText('Live', { exact: true }).waitFor();
        expect(await tour.count()).toBe(0);
        // A terminal that is ready takes the focus, and its keys, unless the page has it.
        await page.locator('#page').focus();
        await page.keyboard.press('ControlOrMeta+k');
        await page.getByRole('menuitem', { name: 'Show the tour' }).click();
        await tour.getByText('step 1 of 3').waitFor();
        await press('Skip the tour');
        await tour.waitFor({ state: 'detached' });
      } finally {
        await context.close();
        await fresh.end();
      }
    },
    MINUTE,
  );
}
