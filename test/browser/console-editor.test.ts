import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { editorOf, type MadeTool } from '#test/host/support/editor.ts';
import { pinnedClock, type PinnedClock } from '#test/host/support/pinned-clock.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, paste, violations } from './support/console-bed.ts';

/** Says which version of itself it is, and which action it does. */
const code = (version: number) =>
  `def run(inputs, context): return {"outputs": {"version": ${version}, "action": context.get("action_id"), "inputs": inputs}, "next_actions": [{"id": "confirm", "title": "Confirm it"}]}`;

suite('the editor of the console, in a real browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;

  const codeOf = (on: Page) => on.getByRole('textbox', { name: 'Code of the tool' });
  const resultOf = (on: Page) => on.getByRole('article', { name: 'What the run gave' });
  const outputsOf = (on: Page) => resultOf(on).getByRole('region', { name: 'Outputs' });
  const draftOf = async ({ tool_id: id }: MadeTool, host = porthole) =>
    (await host.call('GET', `/api/v1/editor/tools/${id}/draft`)).json();
  const open = async (on: Page, { tool_id: id }: MadeTool, host = porthole) => {
    await on.goto(`${host.host.url}/tools/${id}`);
    await on.getByText('You edit it').waitFor();
  };

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(), launchChromium()]);
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  test('runs what is not saved, and its action still acts on that after another edit', async () => {
    const tool = await editorOf(porthole).makeTool(code(0), { name: 'Price check' });
    await page.goto(`${porthole.host.url}/tools`);
    await page.getByRole('link', { name: 'Price check' }).click();
    await page.getByText('You edit it').waitFor();
    await paste(codeOf(page), code(1));
    const sent = page.waitForRequest(/run-sandbox$/);
    await page.getByRole('button', { name: 'Run unsaved' }).click();
    await outputsOf(page).getByText('"version": 1').waitFor();
    const form = (await sent).postData() ?? '';
    const payload = /name="snapshot"\r\n\r\n(.*)\r\n/.exec(form)?.[1] ?? '';
    expect(JSON.parse(payload)).toEqual({
      entrypoint: 'run',
      language: 'python',
      source_code: code(1),
      input_schema: null,
      settings_schema: null,
      usage_instructions: '',
    });
    await paste(codeOf(page), code(2));
    await resultOf(page).getByRole('button', { name: 'Confirm it' }).click();
    await resultOf(page).getByText('action confirm').waitFor();
    expect(JSON.parse((await outputsOf(page).textContent()) ?? '')).toEqual({
      version: 1,
      action: 'confirm',
      inputs: {},
    });
    expect(await violations(page)).toEqual([]);
    expect(await draftOf(tool)).toMatchObject({ source_code: code(0), revision: 1 });
  });

  test('says in words that a snapshot is another run’s, and reads the run again', async () => {
    const editor = editorOf(porthole);
    const tool = await editor.makeTool(code(5));
    const lock = await editor.takeLock(tool);
    const run = await editor.run(tool, lock);
    const other = await editor.run(tool, lock);
    await porthole.call('DELETE', `/api/v1/editor/tools/${tool.tool_id}/draft/lock`, {
      headers: { 'draft-lock-token': lock },
    });
    await open(page, tool);
    let times = 0;
    await page.route(`**/tool-runs/${run.run_id}`, async (route) => {
      const response = await route.fetch();
      const shown = (await response.json()) as object;
      times += 1;
      await route.fulfill({
        response,
        json: times === 1 ? { ...shown, snapshot_id: other.snapshot_id } : shown,
      });
    });
    await page.getByRole('button', { name: `…${run.run_id.slice(-6)}` }).click();
    const [answer] = await Promise.all([
      page.waitForResponse(/start-action$/),
      page.getByRole('button', { name: 'Confirm it' }).click(),
    ]);
    expect(answer.status()).toBe(409);
    await page.getByText('the snapshot of another run').waitFor();
    await page.getByRole('button', { name: 'Confirm it' }).click();
    await resultOf(page).getByText('action confirm').waitFor();
  });
});

suite('an expired snapshot in the console', chromiumMissing, () => {
  let clock: PinnedClock;
  let porthole: TestHost;
  let browser: Browser;
  let page: Page;
  let tool: MadeTool;

  const result = () => page.getByRole('article', { name: 'What the run gave' });
  const again = () => result().getByRole('button', { name: 'Run again' });
  const confirm = () => result().getByRole('button', { name: /^Confirm it/ });

  beforeAll(async () => {
    ensureConsoleBuilt();
    clock = pinnedClock();
    [porthole, browser] = await Promise.all([startTestHost({}, { clock }), launchChromium()]);
    tool = await editorOf(porthole).makeTool(code(1), {
      input_schema: { type: 'object', properties: { n: { type: 'integer' } } },
    });
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  /** A page whose clock shows what the server's does. */
  async function openPage() {
    page = await browser.newPage();
    await page.clock.install({ time: clock.now() });
    await page.goto(`${porthole.host.url}/tools/${tool.tool_id}`);
    await page.getByText('You edit it').waitFor();
  }

  test('prompts a rerun when the server says so, and the button does it with the same inputs', async () => {
    await openPage();
    await page.getByLabel('n', { exact: true }).fill('7');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await confirm().waitFor();
    clock.advance({ hours: 24 });
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

  test('is told of on its buttons when it expires while the page is open', async () => {
    expect(await confirm().textContent()).toBe('Confirm it');
    await page.clock.fastForward('48:00:01');
    await page.getByRole('button', { name: 'Confirm it (expired)' }).waitFor();
    expect(await confirm().isDisabled()).toBe(true);
    expect(await again().isVisible()).toBe(true);
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  test('is there after a reload, from the list of runs, and after it has been removed', async () => {
    clock.advance({ hours: 25 });
    await porthole.host.cleanSnapshots();
    await openPage();
    await page
      .getByRole('button', { name: /^Run …/ })
      .last()
      .click();
    await result().getByText('its actions need a new run').waitFor();
    await again().click();
    await again().waitFor({ state: 'detached' });
    await confirm().click();
    await result().getByText('action confirm').waitFor();
    await page.close();
  });
});
