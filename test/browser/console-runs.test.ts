import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { serveViteProject, type ServedViteProject } from '#test/support/vite-project.ts';
import { ensureConsoleBuilt, violations, watch, type Watched } from './support/console-bed.ts';

suite('runs, approvals and previews in the console', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(), launchChromium()]);
    context = await browser.newContext();
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  describe('a Vite dev server that an agent wants shown', () => {
    let project: ServedViteProject;
    let page: Page;
    let watched: Watched;
    let documents = 0;

    beforeAll(async () => {
      project = await serveViteProject(porthole, { title: 'Rebuild the pricing page' });
      page = await context.newPage();
      watched = watch(page);
    });
    afterAll(() => page?.close());

    test('is shown in the page of its run once the person approves', async () => {
      await page.goto(`${porthole.host.url}/runs/${project.run.run_id}`);
      await page.getByRole('heading', { name: 'Rebuild the pricing page' }).waitFor();
      const asking = porthole.call('POST', `/api/runs/${project.run.run_id}/sandbox/preview`, {
        token: project.run.agent_token,
        body: { target_port: project.port },
      });
      const card = page.getByRole('article', { name: `Open a preview of port ${project.port}?` });
      await card.getByText('vite').first().waitFor();
      page.on('domcontentloaded', () => (documents += 1));
      await card.getByRole('button', { name: 'Approve once' }).click();
      expect((await asking).status).toBe(200);
      await page.frameLocator('iframe').getByRole('heading', { name: 'Hello from the sandbox' }).waitFor();
      expect(await page.locator('iframe').getAttribute('referrerpolicy')).toBe('no-referrer');
      const rights = (await page.locator('iframe').getAttribute('sandbox'))?.split(' ') ?? [];
      expect(rights.filter((right) => right.startsWith('allow-top-navigation'))).toEqual([]);
    });

    test('hot-reloads within the frame, and neither page is loaded again', async () => {
      const app = page.frameLocator('iframe');
      const frame = page.frames().find((each) => each !== page.mainFrame());
      await frame?.evaluate('globalThis.marker = "set before the edit"');
      await project.write('src/heading.js', "export default 'Edited through the API';\n");
      await app.getByRole('heading', { name: 'Edited through the API' }).waitFor();
      expect(await frame?.evaluate('globalThis.marker')).toBe('set before the edit');
      expect(documents).toBe(0);
      expect(watched.problems).toEqual([]);
      expect(await violations(page)).toEqual([]);
    });
  });
});
