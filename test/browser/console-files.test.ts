import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
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
  const read = (path: string) => porthole.call('GET', `/v1/sandbox/${sandboxId}/file/workspace/${path}`);
  /** Waits until the tree has a file there. */
  const moved = (path: string) =>
    page.locator(`[role="row"][data-key$="/${path}"]`).waitFor({ state: 'attached' });
  const text = (path: string) => page.getByRole('textbox', { name: `Text of /workspace/${path}` });

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(), launchHeadlessShell()]);
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

  test('are moved by a dialog, with edits that are not saved', async () => {
    await page.getByRole('row', { name: 'other.py', exact: true }).click();
    await text('src/other.py').click();
    await page.keyboard.press('ControlOrMeta+Home');
    await page.keyboard.type('# mine ');
    await page.getByRole('button', { name: 'Actions for other.py' }).click();
    await page.getByRole('menuitem', { name: 'Move…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Move other.py' });
    const field = dialog.getByRole('combobox', { name: 'To the folder' });
    await field.fill('../etc');
    await dialog.getByRole('button', { name: 'Move it' }).click();
    await dialog.getByText('A folder in /workspace is needed.').waitFor();
    await field.fill('nowhere');
    await dialog.getByRole('button', { name: 'Move it' }).click();
    await dialog.getByText('There is no such folder.').waitFor();
    await field.fill('pag');
    await page.getByRole('option', { name: '/workspace/src/pages' }).click();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Move it' }).click();
    await text('src/pages/other.py').waitFor();
    expect(await text('src/pages/other.py').textContent()).toContain('# mine NEEDLE');
  });

  test('show what changed since the last save', async () => {
    await page.getByRole('button', { name: 'Changes', exact: true }).click();
    const changes = page.getByRole('region', { name: 'Changes since the last save' });
    await changes.getByText('# mine NEEDLE = 2').waitFor();
    await changes.locator('.removed').getByText('NEEDLE = 2').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.').waitFor();
    expect(await changes.count()).toBe(0);
  });

  test('are dragged to a folder, and by keys', async () => {
    const tree = page.getByRole('treegrid', { name: 'Files of the workspace' });
    const row = (name: string) => tree.getByRole('row', { name, exact: true });
    await row('README.md').dragTo(row('pages'));
    await moved('src/pages/README.md');
    await row('new.css').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    const focused = () => page.evaluate('document.activeElement.ariaLabel');
    while (!String(await focused()).includes('pages')) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await moved('src/pages/new.css');
    expect(await violations(page)).toEqual([]);
  });

  test('have a menu in the tree, by its button, a right click and keys', async () => {
    const tree = page.getByRole('treegrid', { name: 'Files of the workspace' });
    const row = (name: string) => tree.getByRole('row', { name, exact: true });
    const item = (name: string) => page.getByRole('menuitem', { name, exact: true });
    await write('menu/old.txt', 'menu');
    await row('menu').click({ button: 'right' });
    await item('Download as zip').waitFor();
    await item('Upload files here…').waitFor();
    expect(await violations(page)).toEqual([]);
    await item('Rename…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('renamed');
    await dialog.getByRole('button', { name: 'Rename it' }).click();
    await row('renamed').click();
    await row('old.txt').hover();
    await row('old.txt').getByRole('button', { name: 'Menu of old.txt' }).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual([
      'Download',
      'Rename…',
      'Move…',
      'Delete…',
    ]);
    await page.keyboard.press('Escape');
    await row('old.txt').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await tree.getByRole('button', { name: 'Menu of old.txt' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await item('Delete…').focus();
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Delete it' }).click();
    await row('old.txt').waitFor({ state: 'detached' });
    // Closed, it is not listed while it goes.
    await row('renamed').click();
    await row('renamed').click({ button: 'right' });
    await item('Delete…').click();
    await dialog.getByRole('button', { name: 'Delete it' }).click();
    await row('renamed').waitFor({ state: 'detached' });
  });

  test('are uploaded from the machine into the folder of the tree they are dropped on', async () => {
    const file = join(porthole.dataDir, 'dropped.txt');
    await writeFile(file, 'dropped');
    const box = await page.getByRole('row', { name: 'src', exact: true }).boundingBox();
    if (box === null) throw new Error('the row has no place');
    const line = await page.context().newCDPSession(page);
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await line.send('Input.dispatchDragEvent', {
        type,
        x: box.x + box.width / 2,
        y: box.y + box.height / 2,
        data: { items: [], files: [file], dragOperationsMask: 1 },
      });
    }
    await page.getByText('dropped.txt is there.').waitFor();
    expect((await read('src/dropped.txt')).text).toBe('dropped');
  });

  test('offers a PDF for download, and shows nothing of it', async () => {
    await write('paper.pdf', '%PDF-1.7\n1 0 obj << /OpenAction << /S /JavaScript /JS (1) >> >>');
    await page.getByRole('row', { name: 'paper.pdf', exact: true }).click();
    await page.getByText('PDFs are not shown here').waitFor();
    expect(await page.getByRole('link', { name: 'Download', exact: true }).getAttribute('download')).toBe(
      'paper.pdf',
    );
    expect(await violations(page)).toEqual([]);
    // The browser reports the folder that the dialog refused.
    expect(watched.problems).toEqual([expect.stringMatching(/404 .*nowhere/)]);
  });
});
