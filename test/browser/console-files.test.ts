import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, violations, watch, type Watched } from './support/console-fixture.ts';

suite('the files of a run, in a real browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let page: Page;
  let sandboxId: string;
  let watched: Watched;
  const write = (path: string, body: string) =>
    porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/workspace/${path}`, { body });
  const text = (path: string) => page.getByRole('textbox', { name: `Text of /workspace/${path}` });

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(), launchChromium()]);
    const made = await makeRun(porthole, undefined, { title: 'With files' });
    sandboxId = made.sandboxId;
    await write('src/pages/home.ts', 'export const a = 1;\n\nconst needle = "x";\n');
    await write(
      'README.md',
      '# Title\n\n<img src=x onerror="document.title=1">\n\n[a link](javascript:alert(1)) **bold**\n',
    );
    await write('src/other.py', 'NEEDLE = 2\n');
    await write('node_modules/dep/index.js', 'needle');
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    watched = watch(page);
    await page.goto(`${porthole.host.url}/runs/${made.runId}?pane=files`);
    await page.getByRole('link', { name: 'README.md', exact: true }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  test('are opened by some letters of their path', async () => {
    await page.keyboard.press('ControlOrMeta+p');
    const field = page
      .getByRole('searchbox', { name: 'Open a file' })
      .or(page.getByRole('textbox', { name: 'Open a file' }))
      .or(page.getByRole('combobox', { name: 'Open a file' }));
    await page.getByRole('menuitem', { name: 'home.ts' }).waitFor();
    expect(await page.getByRole('menuitem', { name: 'index.js' }).count()).toBe(0);
    await field.fill('phome');
    await page.getByRole('menuitem', { name: 'README.md' }).waitFor({ state: 'detached' });
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await text('src/pages/home.ts').waitFor();
    await page.locator('.code').getByText('export').waitFor();
  });

  test('are in a tree beside the editor, which leads to others', async () => {
    const tree = page.getByRole('treegrid', { name: 'Files of the workspace' });
    const row = (name: string) => tree.getByRole('row', { name, exact: true });
    await row('home.ts').waitFor();
    expect(await row('home.ts').getAttribute('class')).toBe('open');
    expect(await violations(page)).toEqual([]);
    await row('other.py').click();
    await text('src/other.py').waitFor();
    await write('src/new.css', 'b { color: red }');
    await row('new.css').waitFor();
    await row('pages').click();
    await row('home.ts').waitFor({ state: 'detached' });
  });

  test('are found by a text in them, which leads to its line', async () => {
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('textbox', { name: 'Text to search for' }).fill('needle');
    await page.keyboard.press('Enter');
    await page.getByText('2 lines in 2 files').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: '3 const needle = "x";' }).click();
    await text('src/pages/home.ts').waitFor();
    await page.locator('.cm-activeLine').getByText('needle').waitFor();
    await page.getByRole('button', { name: 'Close search' }).click();
  });

  test('follow what the agent writes, and say so instead while they are edited', async () => {
    await write('src/pages/home.ts', 'written by the agent\n');
    await text('src/pages/home.ts').getByText('written by the agent').waitFor();
    await text('src/pages/home.ts').click();
    await page.keyboard.type('mine ');
    await write('src/pages/home.ts', 'written again\n');
    await page.getByText('The file changed in the sandbox while you edit it.').waitFor();
    expect(await text('src/pages/home.ts').textContent()).toContain('mine');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Drop mine and load it' }).click();
    await text('src/pages/home.ts').getByText('written again').waitFor();
  });

  test('are shown as text and elements only if they are Markdown', async () => {
    const title = await page.title();
    await page.getByRole('row', { name: 'README.md', exact: true }).click();
    await text('README.md').waitFor();
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    const shown = page.getByRole('article', { name: 'Preview of the text' });
    await shown.getByRole('heading', { name: 'Title' }).waitFor();
    await shown.getByText('bold', { exact: true }).waitFor();
    expect(await shown.locator('img, a').count()).toBe(0);
    expect(await page.title()).toBe(title);
    expect(await violations(page)).toEqual([]);
    expect(watched.problems).toEqual([]);
  });
});
