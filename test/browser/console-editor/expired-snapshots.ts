import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { editorOf, type MadeTool } from '#test/host/support/editor.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

const HOUR = 3_600_000;

/** Returns its version and the action that runs. */
export const versionTool = (version: number) =>
  `def run(inputs, context): return {"outputs": {"version": ${version}, "action": context.get("action_id"), "inputs": inputs}, "next_actions": [{"id": "confirm", "title": "Confirm it"}]}`;

export function expiredSnapshots(here: ConsoleSuite): void {
  describe('an expired snapshot in the console', () => {
    let clock: ReturnType<typeof pinnedClock>;
    let porthole: TestHost;
    let page: Page;
    let tool: MadeTool;

    const result = () => page.getByRole('article', { name: 'What the run gave' });
    const again = () => result().getByRole('button', { name: 'Run again' });
    const confirm = () => result().getByRole('button', { name: /^Confirm it/ });

    beforeAll(async () => {
      // The page uses the Date of responses, which is the machine's.
      clock = pinnedClock(new Date());
      porthole = await startTestHost({}, { clock });
      tool = await editorOf(porthole).makeTool(versionTool(1), {
        input_schema: { type: 'object', properties: { n: { type: 'integer' } } },
      });
    });
    afterAll(() => porthole?.end());

    async function openPage() {
      page = await here.browser.newPage();
      await page.clock.install();
      await page.goto(`${porthole.host.url}/tools/${tool.tool_id}`);
      await page.getByText('You edit it').waitFor();
    }

    test('prompts a rerun when the server says so, and the button does it with the same inputs', async () => {
      await openPage();
      await page.getByLabel('n', { exact: true }).fill('7');
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await confirm().waitFor();
      clock.advance(24 * HOUR);
      const [answer] = await Promise.all([page.waitForResponse(/start-action$/), confirm().click()]);
      expect([answer.status(), ((await answer.json()) as { code: string }).code]).toEqual([
        410,
        'snapshot_expired',
      ]);
      await result().getByText('its actions need a new run').waitFor();
      expect(await confirm().isDisabled()).toBe(true);
      await page.getByLabel('n', { exact: true }).fill('8');
      const first = await result().locator('.id').textContent();
      await again().click();
      await again().waitFor({ state: 'detached' });
      expect(await result().locator('.id').textContent()).not.toBe(first);
      await result().getByText('"n": 7').waitFor();
      expect(await confirm().isEnabled()).toBe(true);
    });

    test('shows on its buttons that it expired while the page is open', async () => {
      expect(await confirm().textContent()).toBe('Confirm it');
      // Otherwise a response would reveal the time.
      await page.context().setOffline(true);
      await page.clock.fastForward('49:00:00');
      await page.getByRole('button', { name: 'Confirm it (expired)' }).waitFor();
      expect(await confirm().isDisabled()).toBe(true);
      expect(await again().isVisible()).toBe(true);
      expect(await violations(page)).toEqual([]);
      await page.close();
    });

    test('is there after a reload, from the list of runs, and after it has been removed', async () => {
      clock.advance(25 * HOUR);
      await porthole.host.cleanSnapshots();
      await openPage();
      await page
        .getByRole('button', { name: /^Run …/ })
        .last()
        .click();
      await confirm().click();
      await result().getByText('its actions need a new run').waitFor();
      await again().click();
      await again().waitFor({ state: 'detached' });
      await confirm().click();
      await result().getByText('action confirm').waitFor();
      await page.close();
    });
  });
}
