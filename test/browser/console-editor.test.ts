import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { editorOf, type MadeTool } from '#test/host/support/editor.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, paste, violations } from './support/console-fixture.ts';

/** Returns its version and the action that runs. */
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
    [porthole, browser] = await Promise.all([startTestHost(), launchHeadlessShell()]);
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  test('begins with an example, which is found, renamed and deleted', async () => {
    await page.goto(`${porthole.host.url}/tools`);
    await page.getByText('No tools yet').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Begin with an example' }).click();
    await page.getByText('You edit it').waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Give a discount…' }).click();
    await page.getByRole('button', { name: 'Start it' }).click();
    await outputsOf(page).getByText('"total": 16.2').waitFor();
    await page.getByRole('link', { name: 'Tools' }).first().click();
    await page.getByLabel('Search').fill('nothing of the kind');
    await page.getByRole('button', { name: 'Show all of them' }).click();
    await page.getByRole('button', { name: 'Rename Example: price list' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Prices');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Rename it' }).click();
    await page.getByRole('link', { name: 'Prices' }).waitFor();
    await page.getByRole('button', { name: 'Delete Prices' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByText('No tools yet').waitFor();
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

  test('saves every field as it is, and says at a field what is wrong with it', async () => {
    const tool = await editorOf(porthole).makeTool('def main(i, c): return {"outputs": i}');
    await open(page, tool);
    await page.getByLabel('Entrypoint').fill('tool:main');
    await page.getByRole('tab', { name: 'Input schema' }).click();
    const schema = page.getByRole('textbox', { name: 'Schema of the inputs' });
    await paste(schema, '{\n  "type": object\n}');
    await page.getByText('Line 2, column 11: "o" is not expected here').waitFor();
    expect(await schema.getAttribute('aria-invalid')).toBe('true');
    expect(await violations(page)).toEqual([]);
    await paste(schema, '{"type": "objct"}');
    await page.getByRole('tab', { name: 'Instructions' }).click();
    await paste(page.getByRole('textbox', { name: 'Instructions' }), 'Give it *anything*.');
    await page.keyboard.press('ControlOrMeta+s');
    // The server's validation error, at its field.
    await page.getByRole('tab', { name: 'Input schema has a problem' }).waitFor();
    await page.getByText('is not a JSON Schema of draft 2020-12').waitFor();
    await paste(schema, '{"type": "object", "required": ["n"], "properties": {"n": {"type": "number"}}}');
    await page.getByRole('tab', { name: 'Settings schema' }).click();
    await paste(page.getByRole('textbox', { name: 'Schema of the settings' }), '{"type": "object"}');
    await page.keyboard.press('ControlOrMeta+s');
    await page.getByText('Draft saved.').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await draftOf(tool)).toMatchObject({
      entrypoint: 'tool:main',
      input_schema: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } },
      settings_schema: { type: 'object' },
      usage_instructions: 'Give it *anything*.',
      revision: 2,
    });
  });

  test('makes a form of the schema, with defaults, and tells at a field why the server refuses it', async () => {
    const properties = {
      city: { type: 'string', title: 'City', description: 'Where to look', pattern: '^[A-Z]' },
      days: { type: 'integer', default: 3, minimum: 1 },
      unit: { enum: ['metric', 'imperial'], default: 'metric' },
      verbose: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
    };
    const tool = await editorOf(porthole).makeTool(
      'def run(i, c): return {"outputs": {"given": i, "files": [f["name"] for f in c["input_files"]]}}',
      { input_schema: { type: 'object', required: ['city'], properties } },
    );
    await open(page, tool);
    const run = page.getByRole('button', { name: 'Run', exact: true });
    await run.click();
    await page.getByText('must not be empty').waitFor();
    await page.getByLabel('City (required)').fill('oslo');
    await run.click();
    await page.getByText('must match pattern').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('City (required)').fill('Oslo');
    await page.getByLabel('days').fill('5');
    await page.getByRole('button', { name: /unit/ }).click();
    await page.getByRole('option', { name: 'imperial' }).click();
    await page.getByText('verbose', { exact: true }).click();
    await page.getByLabel('tags, as JSON').fill('["a"]');
    await page.setInputFiles('input[type=file]', {
      name: 'data.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('1,2'),
    });
    await page.getByText('data.csv').waitFor();
    await run.click();
    const given = { city: 'Oslo', days: 5, unit: 'imperial', verbose: true, tags: ['a'] };
    await outputsOf(page).waitFor();
    expect(JSON.parse((await outputsOf(page).textContent()) ?? '')).toEqual({ given, files: ['data.csv'] });
    await page.getByRole('button', { name: 'As JSON' }).click();
    expect(JSON.parse(await page.getByLabel('Inputs, as JSON').inputValue())).toEqual(given);
  });

  test('asks for what an action needs, and shows what fails with its traceback', async () => {
    const actions = `[{"id": "go", "title": "Go on", "input_schema": {"type": "object", "required": ["why"], "properties": {"why": {"type": "string"}}}}]`;
    const tool = await editorOf(porthole).makeTool(
      `def run(i, c):\n    if c["action_id"]:\n        print("printed")\n        raise ValueError(i["why"])\n    return {"outputs": "x" * 60000, "next_actions": ${actions}}`,
    );
    await open(page, tool);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await outputsOf(page).waitFor();
    expect((await outputsOf(page).textContent())?.length).toBe(50_000);
    await page.getByRole('link', { name: 'Download all of it (58.6 KiB)' }).waitFor();
    await page.getByRole('button', { name: 'Go on…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Go on' });
    await dialog.getByRole('button', { name: 'Start it' }).click();
    await dialog.getByText('must not be empty').waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByLabel('why (required)').fill('no reason');
    await dialog.getByRole('button', { name: 'Start it' }).click();
    await dialog.waitFor({ state: 'detached' });
    const traceback = resultOf(page).getByRole('region', { name: 'Traceback' });
    await traceback.waitFor();
    expect(await traceback.textContent()).toContain('line 4, in run');
    await resultOf(page).getByRole('region', { name: 'stdout' }).getByText('printed').waitFor();
  });

  test('saves versions, shows what differs, and brings an old one back', async () => {
    const tool = await editorOf(porthole).makeTool('one = 1\n');
    await open(page, tool);
    await paste(codeOf(page), 'one = 2\n');
    await page.getByRole('button', { name: 'Save as a new version' }).click();
    await page.getByText('Saved as version 2.').waitFor();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByRole('button', { name: 'Look at version 1' }).click();
    expect(await page.getByRole('region', { name: 'Lines that differ' }).textContent()).toContain(
      '− removed: one = 1\n+ added: one = 2\n',
    );
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Bring version 1 back' }).click();
    expect(await codeOf(page).innerText()).toContain('one = 1');
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Draft saved.').waitFor();
    expect(await draftOf(tool)).toMatchObject({ source_code: 'one = 1\n', version_id: tool.version_id });
  });

  test('keeps what is not saved while another page is looked at, and warns before it is lost', async () => {
    const tool = await editorOf(porthole).makeTool('kept = 0\n', { name: 'Kept' });
    await open(page, tool);
    await paste(codeOf(page), 'kept = 1\n');
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.getByRole('link', { name: 'Tools' }).click();
    await page.getByRole('link', { name: 'Kept' }).click();
    await page.getByText('You edit it').waitFor();
    expect(await codeOf(page).innerText()).toContain('kept = 1');
    const asked = page.waitForEvent('dialog');
    const closed = page.reload().catch(() => undefined);
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.accept();
    await closed;
    await page.getByText('You edit it').waitFor();
    expect(await codeOf(page).innerText()).toContain('kept = 0');
  });

  test('is left by keyboard with Esc and then Tab', async () => {
    const tool = await editorOf(porthole).makeTool('def run(i, c):\n');
    await open(page, tool);
    await codeOf(page).focus();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.press('Tab');
    await page.keyboard.type('pass');
    expect(await codeOf(page).innerText()).toMatch(/def run\(i, c\):\n {4}pass/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.shadowRoot === null')).toBe(true);
    const described = await page.evaluate(
      "document.querySelector('.code').shadowRoot.querySelector('#way-out').textContent",
    );
    expect(described).toBe('Tab indents. Esc and then Tab leaves the editor.');
  });

  test('takes its lock from another window when asked, and the other loses nothing', async () => {
    const tool = await editorOf(porthole).makeTool('mine = 0\n');
    await open(page, tool);
    await paste(codeOf(page), 'mine = 1\n');
    const second = await browser.newContext();
    const other = await second.newPage();
    await other.goto(`${porthole.host.url}/tools/${tool.tool_id}`);
    await other.getByText('You edit this draft in another window.').waitFor();
    expect(await codeOf(other).getAttribute('aria-readonly')).toBe('true');
    await other.getByRole('button', { name: 'Edit it here' }).click();
    await other.getByText('You edit it').waitFor();
    await paste(codeOf(other), 'theirs = 1\n');
    await other.keyboard.press('ControlOrMeta+s');
    await other.getByText('Draft saved.').waitFor();

    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('You edit this draft in another window now.').waitFor();
    expect(await codeOf(page).innerText()).toContain('mine = 1');
    await page.getByRole('button', { name: 'Copy my code' }).waitFor();
    expect(await violations(page)).toEqual([]);

    await page.getByRole('button', { name: 'Edit it here' }).click();
    await page.getByText('has saved the draft since you began').waitFor();
    await page.getByText('What differs from it').click();
    expect(await page.getByRole('region', { name: 'Lines that differ' }).innerText()).toContain('theirs = 1');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Draft saved.').waitFor();
    expect(await draftOf(tool)).toMatchObject({ source_code: 'mine = 1\n', revision: 3 });
    await second.close();
  });

  test('gives its lock back when the page goes', async () => {
    const tool = await editorOf(porthole).makeTool('x = 1\n');
    const other = await context.newPage();
    await open(other, tool);
    expect(await draftOf(tool)).toMatchObject({ lock: { holder: 'local' } });
    await other.goto('about:blank');
    // The request continues without its page.
    while ((await draftOf(tool))['lock'] !== null);
    await other.close();
  });
});

const HOUR = 3_600_000;

suite('an expired snapshot in the console', chromiumMissing, () => {
  let clock: ReturnType<typeof pinnedClock>;
  let porthole: TestHost;
  let browser: Browser;
  let page: Page;
  let tool: MadeTool;

  const result = () => page.getByRole('article', { name: 'What the run gave' });
  const again = () => result().getByRole('button', { name: 'Run again' });
  const confirm = () => result().getByRole('button', { name: /^Confirm it/ });

  beforeAll(async () => {
    ensureConsoleBuilt();
    // The page uses the Date of responses, which is the machine's.
    clock = pinnedClock(new Date());
    [porthole, browser] = await Promise.all([startTestHost({}, { clock }), launchHeadlessShell()]);
    tool = await editorOf(porthole).makeTool(code(1), {
      input_schema: { type: 'object', properties: { n: { type: 'integer' } } },
    });
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  async function openPage() {
    page = await browser.newPage();
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

suite('the editor of the console after a sign-in', chromiumMissing, () => {
  const KEYS = { alice: 'a-key-of-alice-0123', root: 'a-key-of-root-01234' } as const;
  let porthole: TestHost;
  let browser: Browser;

  beforeAll(async () => {
    ensureConsoleBuilt();
    const keys = {
      [KEYS.alice]: { user: 'alice', org: 'acme' },
      [KEYS.root]: { user: 'root', org: 'acme', admin: true },
    };
    [porthole, browser] = await Promise.all([
      startTestHost({ PORTHOLE_API_KEYS: JSON.stringify(keys) }),
      launchHeadlessShell(),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  async function signIn(on: Page, key: string) {
    await on.getByLabel('API key').fill(key);
    await on.getByRole('button', { name: 'Sign in' }).click();
  }
  async function openAs(key: string, { tool_id: id }: MadeTool) {
    const on = await (await browser.newContext()).newPage();
    await on.goto(`${porthole.host.url}/tools/${id}`);
    await signIn(on, key);
    return on;
  }

  test('restores unsaved text after the same user signs in again, and for no other user', async () => {
    const tool = await editorOf(porthole, KEYS.alice).makeTool('x = 0\n');
    const page = await openAs(KEYS.alice, tool);
    await page.getByText('You edit it').waitFor();
    const code = page.getByRole('textbox', { name: 'Code of the tool' });
    await paste(code, 'x = 1\n');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByLabel('API key').waitFor();
    await signIn(page, KEYS.alice);
    await page.getByText('You edit it').waitFor();
    expect(await code.innerText()).toContain('x = 1');
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).toBe('{}');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Save draft' }).click();
    await signIn(page, KEYS.root);
    await page.getByText('root · admin').waitFor();
    await page.getByText('You edit it').waitFor();
    expect(await code.innerText()).toContain('x = 0');
    await page.context().close();
  });

  test('names who holds the lock and until when; an admin takes it over, and the owner sees it', async () => {
    const tool = await editorOf(porthole, KEYS.alice).makeTool('x = 0\n');
    const owner = await openAs(KEYS.alice, tool);
    await owner.getByText('You edit it').waitFor();
    const admin = await openAs(KEYS.root, tool);
    await admin.getByText(/alice edits this draft, until \d\d:\d\d, or longer/).waitFor();
    expect(await violations(admin)).toEqual([]);
    await admin.getByRole('button', { name: 'Take it over' }).click();
    await admin.getByText('You edit it').waitFor();
    await paste(owner.getByRole('textbox', { name: 'Code of the tool' }), 'x = 1\n');
    await owner.getByRole('button', { name: 'Run unsaved' }).click();
    await owner.getByText('root has taken this draft over').waitFor();
    expect(await owner.getByRole('button', { name: 'Take it over' }).count()).toBe(0);
    await owner.getByRole('button', { name: 'Make another tool of it' }).click();
    await owner.getByRole('heading', { name: 't (copy)' }).waitFor();
    expect(await owner.getByRole('textbox', { name: 'Code of the tool' }).innerText()).toContain('x = 1');
    await Promise.all([owner.context().close(), admin.context().close()]);
  });
});
