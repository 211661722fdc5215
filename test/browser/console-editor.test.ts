import { beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { editorOf, type MadeTool } from '#test/host/support/editor.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { editorAfterSignIn } from './console-editor/editor-after-sign-in.ts';
import { expiredSnapshots, versionTool } from './console-editor/expired-snapshots.ts';
import { paste, violations } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

suite('the editor of the console, in a real browser', chromiumMissing, () => {
  const here = consoleSuite();
  let page: Page;
  beforeAll(async () => {
    page = await here.context.newPage();
  });

  const codeOf = (on: Page) => on.getByRole('textbox', { name: 'Code of the tool' });
  const resultOf = (on: Page) => on.getByRole('article', { name: 'What the run gave' });
  const outputsOf = (on: Page) => resultOf(on).getByRole('region', { name: 'Outputs' });
  const draftOf = async ({ tool_id: id }: MadeTool) =>
    (await here.porthole.call('GET', `/api/v1/editor/tools/${id}/draft`)).json();
  const open = async (on: Page, { tool_id: id }: MadeTool) => {
    await on.goto(`${here.porthole.host.url}/tools/${id}`);
    await on.getByText('You edit it').waitFor();
  };

  test('begins with an example, which is found, renamed and deleted', async () => {
    await page.goto(`${here.porthole.host.url}/tools`);
    await page.getByText('No tools yet').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Begin with an example' }).click();
    await page.getByText('You edit it').waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Give a discount…' }).click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
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
    const tool = await editorOf(here.porthole).makeTool(versionTool(0), { name: 'Price check' });
    await page.goto(`${here.porthole.host.url}/tools`);
    await page.getByRole('link', { name: 'Price check' }).click();
    await page.getByText('You edit it').waitFor();
    await paste(codeOf(page), versionTool(1));
    const sent = page.waitForRequest(/run-sandbox$/);
    await page.getByRole('button', { name: 'Run unsaved' }).click();
    await outputsOf(page).getByText('"version": 1').waitFor();
    const form = (await sent).postData() ?? '';
    const payload = /name="snapshot"\r\n\r\n(.*)\r\n/.exec(form)?.[1] ?? '';
    expect(JSON.parse(payload)).toEqual({
      entrypoint: 'run',
      language: 'python',
      source_code: versionTool(1),
      input_schema: null,
      settings_schema: null,
      usage_instructions: '',
    });
    await paste(codeOf(page), versionTool(2));
    await resultOf(page).getByRole('button', { name: 'Confirm it' }).click();
    await resultOf(page).getByText('action confirm').waitFor();
    expect(JSON.parse((await outputsOf(page).textContent()) ?? '')).toEqual({
      version: 1,
      action: 'confirm',
      inputs: {},
    });
    expect(await violations(page)).toEqual([]);
    expect(await draftOf(tool)).toMatchObject({ source_code: versionTool(0), revision: 1 });
  });

  test('says in words that a snapshot is another run’s, and reads the run again', async () => {
    const editor = editorOf(here.porthole);
    const tool = await editor.makeTool(versionTool(5));
    const lock = await editor.takeLock(tool);
    const run = await editor.run(tool, lock);
    const other = await editor.run(tool, lock);
    await here.porthole.call('DELETE', `/api/v1/editor/tools/${tool.tool_id}/draft/lock`, {
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
    const tool = await editorOf(here.porthole).makeTool('def main(i, c): return {"outputs": i}');
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
    const tool = await editorOf(here.porthole).makeTool(
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
    const tool = await editorOf(here.porthole).makeTool(
      `def run(i, c):\n    if c["action_id"]:\n        print("printed")\n        raise ValueError(i["why"])\n    return {"outputs": "x" * 60000, "next_actions": ${actions}}`,
    );
    await open(page, tool);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await outputsOf(page).waitFor();
    expect((await outputsOf(page).textContent())?.length).toBe(50_000);
    await page.getByRole('link', { name: 'Download all of it (58.6 KiB)' }).waitFor();
    await page.getByRole('button', { name: 'Go on…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Go on' });
    await dialog.getByRole('button', { name: 'Start', exact: true }).click();
    await dialog.getByText('must not be empty').waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByLabel('why (required)').fill('no reason');
    await dialog.getByRole('button', { name: 'Start', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    const traceback = resultOf(page).getByRole('region', { name: 'Traceback' });
    await traceback.waitFor();
    expect(await traceback.textContent()).toContain('line 4, in run');
    await resultOf(page).getByRole('region', { name: 'stdout' }).getByText('printed').waitFor();
  });

  test('saves versions, shows what differs, and brings an old one back', async () => {
    const tool = await editorOf(here.porthole).makeTool('one = 1\n');
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
    const tool = await editorOf(here.porthole).makeTool('kept = 0\n', { name: 'Kept' });
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
    const tool = await editorOf(here.porthole).makeTool('def run(i, c):\n');
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
    const tool = await editorOf(here.porthole).makeTool('mine = 0\n');
    await open(page, tool);
    await paste(codeOf(page), 'mine = 1\n');
    const second = await here.browser.newContext();
    const other = await second.newPage();
    await other.goto(`${here.porthole.host.url}/tools/${tool.tool_id}`);
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
    const tool = await editorOf(here.porthole).makeTool('x = 1\n');
    const other = await here.context.newPage();
    await open(other, tool);
    expect(await draftOf(tool)).toMatchObject({ lock: { holder: 'local' } });
    await other.goto('about:blank');
    // The request continues without its page.
    while ((await draftOf(tool))['lock'] !== null);
    await other.close();
  });

  expiredSnapshots(here);
  editorAfterSignIn(here);
});
