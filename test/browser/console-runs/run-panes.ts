import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type MadeRun, makeRun, startPreview } from '#test/host/support/runs.ts';
import { violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

export function runPanes(here: ConsoleSuite): void {
  describe('the panes of a run', () => {
    let page: Page;
    let run: MadeRun;
    let address: string;
    const pane = (id: string) => page.locator(`[data-pane="${id}"]`);
    const sizeOf = async (id: string) => {
      const { width, height } = (await pane(id).boundingBox()) ?? { width: 0, height: 0 };
      return { width, height };
    };
    const toggle = (name: string | RegExp) =>
      page.getByRole('group', { name: 'Panes' }).getByRole('button', { name });

    beforeAll(async () => {
      run = await makeRun(here.porthole, undefined, { title: 'With panes' });
      address = `${here.porthole.host.url}/runs/${run.runId}`;
      const program = "require('http').createServer((_, r) => r.end('shown')).listen(3200)";
      await here.porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/web`, {
        body: { argv: ['node', '-e', program], port: 3200 },
      });
      await startPreview(here.porthole, run.runId, 3200);
      page = await here.browser.newPage({ viewport: { width: 1280, height: 720 } });
      await page.goto(address);
      await page.frameLocator('iframe').getByText('shown').waitFor();
    });
    afterAll(async () => {
      await page?.context().close();
      await here.porthole.call('POST', `/api/runs/${run.runId}/complete`);
    });

    test.each([
      [1440, 900, 0.7],
      [1280, 720, 0.7],
      [390, 844, 0.6],
    ])(
      'are closed at first in a window of %i by %i, and the app has its height × %f',
      async (width, height, share) => {
        await page.setViewportSize({ width, height });
        const app = await page.locator('.stage').boundingBox();
        expect((app?.height ?? 0) / height).toBeGreaterThan(share);
        for (const id of ['terminal', 'files', 'logs', 'network', 'inbox', 'details', 'timeline']) {
          expect([id, await pane(id).isVisible()]).toEqual([id, false]);
        }
        expect(await violations(page)).toEqual([]);
      },
    );

    test('are resized by keyboard and by pointer, and keep their size after a reload', async () => {
      await page.setViewportSize({ width: 1280, height: 720 });
      await toggle('Terminal').click();
      await page.getByText('Connected').waitFor();
      const before = await sizeOf('terminal');
      const divider = page.getByRole('separator', { name: 'Between Preview and Terminal' });
      await divider.focus();
      await page.keyboard.press('ArrowUp');
      const higher = await sizeOf('terminal');
      expect(higher.height).toBeGreaterThan(before.height);
      const line = await divider.boundingBox();
      if (line === null) throw new Error('the divider is not visible');
      const x = line.x + line.width / 2;
      await page.mouse.move(x, line.y + 1);
      await page.mouse.down();
      await page.mouse.move(x, line.y + 80, { steps: 4 });
      await page.mouse.up();
      const lower = await sizeOf('terminal');
      expect(higher.height - lower.height).toBeGreaterThan(60);
      await page.reload();
      await page.getByText('Connected').waitFor();
      const kept = await sizeOf('terminal');
      expect(Math.abs(kept.height - lower.height)).toBeLessThan(8);
      expect(await violations(page)).toEqual([]);
    });

    test('move to the side and back, and stay there after a reload', async () => {
      await page.getByRole('button', { name: 'Panel at the side' }).click();
      await page.getByRole('button', { name: 'Panel at the bottom' }).waitFor();
      expect((await sizeOf('terminal')).height).toBeGreaterThan(400);
      await page.reload();
      await page.getByText('Connected').waitFor();
      expect((await sizeOf('terminal')).width).toBeLessThan(800);
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Panel at the bottom' }).click();
    });

    test('keep what they show while they are hidden', async () => {
      await page.evaluate("document.querySelector('.screen').setAttribute('data-same', '')");
      await page.getByRole('button', { name: 'Close Terminal' }).click();
      await pane('terminal').waitFor({ state: 'hidden' });
      await page.locator('#show-terminal:focus').waitFor();
      await toggle('Terminal').click();
      await page.locator('.screen[data-same]').waitFor();
    });

    test('have the timeline in a drawer, with the number of its events', async () => {
      await toggle(/^Timeline \d+$/).click();
      await pane('timeline').getByText('Run started').waitFor();
      expect(await pane('terminal').isVisible()).toBe(true);
      await page.reload();
      await pane('timeline').getByText('Run started').waitFor();
      expect(await violations(page)).toEqual([]);
      await toggle(/^Timeline/).click();
      await pane('timeline').waitFor({ state: 'hidden' });
    });

    test('have the ids in the details, with buttons that copy them', async () => {
      await toggle('Details').click();
      const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
      await pane('details').getByText(id).waitFor();
      expect(await pane('details').getByRole('button', { name: 'Copy' }).count()).toBe(2);
      expect(await page.locator('.page-head').textContent()).not.toContain(id);
      expect(await violations(page)).toEqual([]);
    });

    test('are shown one at a time on a phone', async () => {
      await page.setViewportSize({ width: 390, height: 844 });
      await toggle('Preview').click();
      await pane('details').waitFor({ state: 'hidden' });
      expect(await pane('preview').isVisible()).toBe(true);
      await toggle('Files').click();
      await pane('preview').waitFor({ state: 'hidden' });
      await page.locator('.files').waitFor();
      expect(await violations(page)).toEqual([]);
      await toggle(/^Timeline/).click();
      await pane('files').waitFor({ state: 'hidden' });
      await pane('timeline').getByText('Run started').waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('leave a terminal most of a phone with its keyboard open, with the keys that it lacks', async () => {
      const viewport = { width: 390, height: 508 };
      const context = await here.browser.newContext({ viewport, hasTouch: true, isMobile: true });
      const phone = await context.newPage();
      await phone.goto(`${address}?pane=terminal`);
      await phone.getByText('Connected').waitFor();
      await phone.locator('.screen').tap();
      await phone.locator('.side').waitFor({ state: 'hidden' });
      const screen = await phone.locator('.screen').boundingBox();
      expect(screen?.height).toBeGreaterThan(220);
      const keys = phone.getByRole('group', { name: 'Keys' });
      expect(await keys.getByRole('button').allTextContents()).toEqual([
        'Ctrl',
        'Esc',
        'Tab',
        '↑',
        '↓',
        '←',
        '→',
      ]);
      const box = await keys.boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(viewport.height);
      expect(await violations(phone)).toEqual([]);
      await context.close();
    });
  });
}
