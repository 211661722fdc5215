import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type MadeRun, makeRun, startPreview } from '#test/host/support/runs.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { violations, watch } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

const PORT = 4610;
const APP = `require('http').createServer((_, answer) => {
  answer.setHeader('content-type', 'text/html');
  answer.end('<!doctype html><title>App</title><h1>' + require('fs').readFileSync('page.txt', 'utf8') + '</h1>');
}).listen(${PORT}, '127.0.0.1')`;

suite('checkpoints and forks of a run', chromiumMissing, () => {
  const here = consoleSuite({}, { viewport: { width: 1600, height: 900 } });
  let run: MadeRun;
  const call = (method: string, path: string, body?: unknown) => here.porthole.call(method, path, { body });
  const write = (text: string, sandbox = run.sandboxId) =>
    call('PUT', `/v1/sandbox/${sandbox}/file/workspace/page.txt`, text);
  const take = (label: string) => call('POST', `/v1/sandbox/${run.sandboxId}/checkpoints`, { label });
  beforeAll(async () => {
    run = await makeRun(here.porthole, undefined, { title: 'Shop' });
    await write('first');
    const server = { argv: ['node', '-e', APP], port: PORT };
    await call('PUT', `/v1/sandbox/${run.sandboxId}/servers/web`, server);
    await take('one page');
    await call('PUT', `/v1/sandbox/${run.sandboxId}/file/workspace/menu.txt`, 'tea');
    await write('second');
    await take('with a menu');
    await write('third');
    await startPreview(here.porthole, run.runId, PORT);
  });
  afterEach(() => Promise.all(here.context.pages().map((page) => page.close())));

  async function open(): Promise<{ page: Page; problems: readonly string[] }> {
    const page = await here.context.newPage();
    const { problems } = watch(page);
    await page.goto(`${here.porthole.host.url}/runs/${run.runId}?drawer=timeline`);
    await page.getByRole('slider', { name: 'Moment' }).waitFor();
    return { page, problems };
  }
  const heading = (page: Page, of: string) =>
    page
      .getByRole(of === 'present' ? 'article' : 'region', { name: of === 'present' ? /^Preview/ : of })
      .frameLocator('iframe')
      .getByRole('heading', { level: 1 });

  test('shows each moment by keyboard: its name, its files and its servers', async () => {
    const { page, problems } = await open();
    const slider = page.getByRole('slider', { name: 'Moment' });
    const words = () => slider.getAttribute('aria-valuetext');
    expect(await words()).toBe('The present');
    expect(await page.getByRole('button', { name: 'Restore' }).count()).toBe(0);
    await slider.focus();
    await page.keyboard.press('ArrowLeft');
    expect(await words()).toMatch(/^with a menu, /);
    const files = page.getByRole('list', { name: 'Files that differ' }).getByRole('listitem');
    await page.getByText('2 files differ').waitFor();
    expect((await files.allInnerTexts()).map((text) => text.split(/\s+/).slice(0, 2))).toEqual([
      ['added', 'menu.txt'],
      ['changed', 'page.txt'],
    ]);
    await page.getByText(`Servers: web :${PORT}`).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Home');
    expect(await words()).toMatch(/^one page, /);
    await page.getByRole('button', { name: /Compare with/ }).press('Enter');
    await page.getByRole('option', { name: /^with a menu/ }).press('Enter');
    await files.getByText('removed').waitFor();
    await page.getByRole('button', { name: 'Make a checkpoint' }).press('Enter');
    await page.getByRole('textbox', { name: 'Label' }).fill('with three');
    await page.keyboard.press('Enter');
    await page.getByText('with three', { exact: true }).first().waitFor();
    expect(await words()).toMatch(/^with three, /);
    expect(await violations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test('opens a moment beside the present, until its fork is ended', async () => {
    const { page, problems } = await open();
    await page.getByRole('slider', { name: 'Moment' }).press('Home');
    await page.getByRole('button', { name: 'Open this moment' }).press('Enter');
    await heading(page, 'Fork 1').filter({ hasText: 'first' }).waitFor();
    await heading(page, 'present').filter({ hasText: 'third' }).waitFor();
    await page.reload();
    await heading(page, 'Fork 1').filter({ hasText: 'first' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'End Fork 1' }).click();
    await page.getByRole('button', { name: 'End it' }).click();
    await page.getByRole('region', { name: 'Fork 1' }).waitFor({ state: 'detached' });
    const { sandboxes } = (await call('GET', '/v1/sandbox')).json<{ sandboxes: { id: string }[] }>();
    expect(sandboxes.map(({ id }) => id)).toEqual([run.sandboxId]);
    expect(problems).toEqual([]);
  });

  test('tries three ways, keeps one, and goes back', async () => {
    const { page, problems } = await open();
    await page.getByRole('button', { name: 'Try three ways' }).click();
    for (const name of ['Fork 1', 'Fork 2', 'Fork 3']) {
      await heading(page, name).filter({ hasText: 'third' }).waitFor();
    }
    expect(await page.getByRole('article', { name: /^Preview/ }).isVisible()).toBe(false);
    const ids = new URL(page.url()).searchParams.get('forks')?.split(',') ?? [];
    const second = (await call('GET', `/api/runs/${ids[1]}`)).json<{ sandbox_id: string }>();
    await write('the second way', second.sandbox_id);
    await page.getByRole('button', { name: 'Reload Fork 2' }).click();
    await heading(page, 'Fork 2').filter({ hasText: 'the second way' }).waitFor();
    expect(await violations(page)).toEqual([]);

    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Fork 2', exact: true }).click();
    const seen = await Promise.all(
      ['Fork 1', 'Fork 2', 'Fork 3'].map((name) => page.getByRole('region', { name }).isVisible()),
    );
    expect(seen).toEqual([false, true, false]);
    expect(await violations(page)).toEqual([]);

    await page.getByRole('button', { name: 'Keep this one, Fork 2' }).click();
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.getByRole('region', { name: 'Fork 2' }).waitFor({ state: 'detached' });
    await heading(page, 'present').filter({ hasText: 'the second way' }).waitFor();
    await page.getByRole('button', { name: /^Timeline/ }).click();
    await page.getByRole('slider', { name: 'Moment' }).press('End');
    await page.getByRole('slider', { name: 'Moment' }).press('ArrowLeft');
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText(/^Restored “Before a restore”\. To go back, /).waitFor();
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    await heading(page, 'present').filter({ hasText: 'third' }).waitFor();
    expect(problems).toEqual([]);
  });

  test('compares a fork with the present and with another fork: pages, console, files and times', async () => {
    const { page, problems } = await open();
    await page.getByRole('button', { name: 'Try three ways' }).click();
    await heading(page, 'Fork 3').filter({ hasText: 'third' }).waitFor();
    const runs = new URL(page.url()).searchParams.get('forks')?.split(',') ?? [];
    const ids = await Promise.all(
      runs.map(
        async (id) => (await call('GET', `/api/runs/${id}`)).json<{ sandbox_id: string }>().sandbox_id,
      ),
    );
    await write('the second way<script>console.error("no till")</script>', ids[1]);
    await call('PUT', `/v1/sandbox/${ids[2]}/file/workspace/logo.bin`, Buffer.from([0, 1, 2]));

    await page.getByRole('button', { name: 'Compare Fork 2' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Compare Fork 2' });
    const texts = async (list: string) =>
      (await dialog.getByRole('list', { name: list }).getByRole('listitem').allInnerTexts()).map((text) =>
        text.replaceAll(/\s+/g, ' '),
      );
    for (const name of ['Page of The present', 'Page of Fork 2']) await dialog.getByAltText(name).waitFor();
    await dialog.getByText(/^\d+\.\d % of the picture differs\.$/).waitFor();
    expect(await texts('Console: new and gone in Fork 2')).toEqual(['new error: no till']);
    expect(await texts('Text and controls: new and gone in Fork 2')).toEqual([
      expect.stringMatching(/^new .*the second way/),
      expect.stringMatching(/^gone .*third/),
    ]);
    const loaded = dialog.getByRole('row', { name: 'Loaded' }).getByRole('cell');
    expect(await loaded.allInnerTexts()).toEqual([
      expect.stringMatching(/^\d+ ms$/),
      expect.stringMatching(/^\d+ ms$/),
    ]);
    expect(await texts('Files that differ')).toEqual([expect.stringMatching(/^changed page.txt /)]);
    await dialog.getByRole('button', { name: 'Show lines of page.txt' }).press('Enter');
    const lines = dialog.getByRole('region', { name: 'Lines that differ' });
    await lines.getByText('removed: third').waitFor();
    expect(await lines.innerText()).toContain('the second way<script>');
    expect(await violations(page)).toEqual([]);
    await dialog.getByText('What differs', { exact: true }).click();
    await dialog.getByAltText('What differs in Fork 2').waitFor();
    expect(await dialog.getByAltText('Page of Fork 2').count()).toBe(0);

    await dialog.getByRole('button', { name: /With$/ }).press('Enter');
    await page.getByRole('option', { name: 'Fork 3' }).press('Enter');
    await dialog.getByAltText('Page of Fork 3').waitFor();
    await dialog.getByText('2 files differ').waitFor();
    await dialog.getByRole('button', { name: 'Show lines of logo.bin' }).press('Enter');
    await dialog.getByText('It is no text, or too long to compare here.').waitFor();
    await dialog.getByRole('textbox', { name: `Page of port ${PORT}` }).fill('menu');
    await page.keyboard.press('Enter');
    await dialog.getByText('must be a path on the preview').waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Fork 3', exact: true }).click();
    await page.getByRole('button', { name: 'Compare Fork 3' }).click();
    await page.getByRole('dialog').getByText('The pages look the same.').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(problems.filter((each) => !each.includes('400'))).toEqual([]);
    for (const id of ids) await call('DELETE', `/v1/sandbox/${id}`);
  }, 120_000);

  test('says why there are fewer pages, and what to do', async () => {
    const { page } = await open();
    const { access } = here.porthole.host.services.records;
    const owner = { user: 'local', org: 'local' };
    await access.putBlock({ owner, reason: 'too many', by: 'ada', at: new Date() });
    await page.getByRole('slider', { name: 'Moment' }).press('Home');
    await page.getByRole('button', { name: 'Open this moment' }).click();
    await page.getByText('stopped the previews of local: ask your administrator why.').waitFor();
    await page.getByText('It has no live preview').waitFor();
    await access.removeBlock(owner);
  });
});
