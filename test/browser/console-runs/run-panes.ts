import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { makeRun } from '#test/host/support/runs.ts';
import { violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

export function runPanes(here: ConsoleSuite): void {
  describe('the panes of a run', () => {
    let page: Page;
    let address: string;
    const pane = (id: string) => page.locator(`[data-pane="${id}"]`);
    const widthOf = async (id: string) => (await pane(id).boundingBox())?.width ?? 0;
    const heightOf = async (id: string) => (await pane(id).boundingBox())?.height ?? 0;
    const toggle = (name: string) =>
      page.getByRole('group', { name: 'Panes' }).getByRole('button', { name, exact: true });
    const divider = (name: string) => page.getByRole('separator', { name });

    beforeAll(async () => {
      const { runId } = await makeRun(here.porthole, undefined, { title: 'With panes' });
      address = `${here.porthole.host.url}/runs/${runId}`;
      page = await here.browser.newPage({ viewport: { width: 1280, height: 800 } });
      await page.goto(address);
      await page.getByText('Connected').waitFor();
    });
    afterAll(() => page?.context().close());

    test('are resized by keyboard and by pointer, and keep their size after a reload', async () => {
      const before = await widthOf('preview');
      await divider('Between Previews and Timeline').focus();
      await page.keyboard.press('Shift+ArrowLeft');
      const narrower = await widthOf('preview');
      expect(narrower).toBeLessThan(before - 50);
      const low = await heightOf('terminal');
      const line = await divider('Between Previews and Terminal').boundingBox();
      if (line === null) throw new Error('the divider is not visible');
      const x = line.x + line.width / 2;
      await page.mouse.move(x, line.y + line.height / 2);
      await page.mouse.down();
      await page.mouse.move(x, line.y - 100, { steps: 4 });
      await page.mouse.up();
      const higher = await heightOf('terminal');
      expect(higher - low).toBeGreaterThan(80);
      await page.reload();
      await page.getByText('Connected').waitFor();
      expect([await widthOf('preview'), await heightOf('terminal')]).toEqual([narrower, higher]);
      expect(await violations(page)).toEqual([]);
    });

    test('are hidden and shown by one press, and stay so after a reload', async () => {
      await page.getByRole('button', { name: 'Hide Timeline' }).click();
      await pane('timeline').waitFor({ state: 'hidden' });
      await page.locator('#show-timeline:focus').waitFor();
      await page.reload();
      await pane('preview').waitFor();
      expect(await pane('timeline').isVisible()).toBe(false);
      await toggle('Timeline').click();
      await pane('timeline').getByText('Run started').waitFor();
    });

    test('keep what they show while they are hidden', async () => {
      await page.getByText('Connected').waitFor();
      await page.evaluate("document.querySelector('.screen').setAttribute('data-same', '')");
      await toggle('Terminal').click();
      await pane('terminal').waitFor({ state: 'hidden' });
      await toggle('Terminal').click();
      await page.locator('.screen[data-same]').waitFor();
    });

    test('fill the window one at a time, and go back', async () => {
      const full = page.getByRole('button', { name: 'Full screen: Terminal' });
      await full.press('Enter');
      await pane('preview').waitFor({ state: 'hidden' });
      expect(await widthOf('terminal')).toBeGreaterThan(1_200);
      expect(await violations(page)).toEqual([]);
      await page.reload();
      await page.getByText('Connected').waitFor();
      expect(await pane('preview').isVisible()).toBe(false);
      await full.press('Enter');
      await pane('preview').waitFor();
    });

    test('are all visible in a wide window, and one at a time on a phone', async () => {
      await page.setViewportSize({ width: 1680, height: 950 });
      await pane('files').waitFor();
      for (const id of ['preview', 'terminal', 'files', 'timeline']) {
        expect([id, await pane(id).isVisible()]).toEqual([id, true]);
      }
      await page.locator('.files').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 844 });
      await pane('timeline').waitFor({ state: 'hidden' });
      expect(await pane('preview').isVisible()).toBe(true);
      await toggle('Files').click();
      await pane('preview').waitFor({ state: 'hidden' });
      await page.locator('.files').waitFor();
      expect(await violations(page)).toEqual([]);
    });
  });
}
