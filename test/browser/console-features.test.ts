import { beforeAll, expect, test } from '@jest/globals';
import { serve } from '#test/host/support/commands.ts';
import { type MadeRun, makeRun, startPreview } from '#test/host/support/runs.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { violations, watch } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

suite('the console without the features that can be off', chromiumMissing, () => {
  const here = consoleSuite({ PORTHOLE_FEATURES_OFF: 'editor,mcp,pages' });
  let run: MadeRun;
  beforeAll(async () => {
    run = await makeRun(here.porthole, undefined, { title: 'Shop' });
    await serve(here.porthole, run.sandboxId, 3100, 'hello');
    await startPreview(here.porthole, run.runId, 3100);
  });

  test('has no page of the editor', async () => {
    const page = await here.context.newPage();
    await page.goto(here.porthole.host.url);
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await links.first().waitFor();
    expect(await links.allTextContents()).toEqual(['Runs', 'Sandboxes', 'Docs', 'Settings']);
    await page.keyboard.press('Control+K');
    await page.getByRole('menuitem', { name: 'Go to the sandboxes' }).waitFor();
    expect(await page.getByRole('menuitem', { name: 'Go to the tools' }).count()).toBe(0);
    const statusOf = async (path: string) => (await page.goto(here.porthole.host.url + path))?.status();
    expect([await statusOf('/settings'), await statusOf('/tools')]).toEqual([200, 404]);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  });

  test('shows a preview without checks and comments of its page, and agents without MCP', async () => {
    const page = await here.context.newPage();
    const { problems } = watch(page);
    await page.goto(`${here.porthole.host.url}/runs/${run.runId}`);
    const preview = page.getByRole('article', { name: 'Preview of port 3100' });
    await preview.getByRole('button', { name: 'Stop the preview of port 3100' }).waitFor();
    expect(await preview.getByRole('button', { name: /^Page check/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Comments' }).click();
    await page.getByRole('region', { name: 'Comments' }).first().getByText('No comments yet').waitFor();
    expect(await page.getByRole('button', { name: /^Comment on/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Connect your agent' }).click();
    const panel = page.getByRole('region', { name: 'Connect your agent' });
    await panel.getByRole('button', { name: 'New token' }).click();
    await panel.getByRole('group', { name: /^Configuration for / }).waitFor();
    await panel.getByRole('button', { name: /Client/ }).click();
    const clients = page.getByRole('option');
    await clients.first().waitFor();
    const names = await clients.allTextContents();
    expect(names).toEqual(expect.arrayContaining(['TypeScript', 'Python']));
    for (const name of ['Cursor', 'Any MCP client']) expect(names).not.toContain(name);
    await page.keyboard.press('Escape');
    expect(await violations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });
});
