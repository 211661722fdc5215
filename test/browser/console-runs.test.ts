import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { askForPreview } from '#test/host/support/approvals.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { serveViteProject, type ServedViteProject } from '#test/support/vite-project.ts';
import { approvalCards } from './console-runs/approval-cards.ts';
import { commandMenu } from './console-runs/command-menu.ts';
import { connectAgent } from './console-runs/connect-agent.ts';
import { notifyMe } from './console-runs/notify-me.ts';
import { previewPanes } from './console-runs/preview-panes.ts';
import { runPanes } from './console-runs/run-panes.ts';
import { decide, violations, watch, type Watched } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

suite('runs, approvals and previews in the console', chromiumMissing, () => {
  const here = consoleSuite();

  commandMenu(here);
  runPanes(here);
  connectAgent(here);

  describe('a Vite dev server that an agent wants shown', () => {
    let project: ServedViteProject;
    let page: Page;
    let watched: Watched;
    let documents = 0;

    beforeAll(async () => {
      project = await serveViteProject(here.porthole, { title: 'Rebuild the pricing page' });
      page = await here.context.newPage();
      watched = watch(page);
    });
    afterAll(() => page?.close());

    test('is shown in the page of its run once the person approves', async () => {
      await page.goto(`${here.porthole.host.url}/runs/${project.run.run_id}`);
      await page.getByRole('heading', { name: 'Rebuild the pricing page' }).waitFor();
      const { run_id: runId, agent_token: token } = project.run;
      const asking = askForPreview(here.porthole, runId, token, { target_port: project.port });
      const card = page.getByRole('article', { name: `Open a preview of port ${project.port}?` });
      await card.getByText('vite').first().waitFor();
      page.on('domcontentloaded', () => (documents += 1));
      await decide(card, 'Approve once');
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

  approvalCards(here);
  notifyMe(here);
  previewPanes(here);

  describe('the timeline of a run', () => {
    let page: Page;
    let first: TestHost;
    let second: TestHost | undefined;
    beforeAll(async () => {
      first = await startTestHost();
      page = await here.context.newPage();
    });
    afterAll(async () => {
      await page?.close();
      await (second ?? first)?.end();
    });

    test('goes on without a gap or a repeat when the server goes away and comes back', async () => {
      const run = await makeRun(first);
      const announce = (host: TestHost, from: number, count: number) =>
        host.host.services.records.timeline.append(
          run.runId,
          Array.from({ length: count }, (_, at) => ({
            type: 'preview.kept' as const,
            key: `event-${from + at}`,
            data: { target_port: from + at },
          })),
          new Date(),
        );
      await announce(first, 3000, 3);
      await page.goto(`${first.host.url}/runs/${run.runId}?drawer=timeline`);
      await page.getByText('port 3002', { exact: true }).waitFor();
      await page.locator('.page-head [role=status]').getByText('running').waitFor();
      await first.close();
      await page.locator('.page-head').getByText('connecting…').waitFor();
      second = await startTestHost({ PORT: String(first.host.port) }, { dataDir: first.dataDir });
      await announce(second, 3003, 3);
      await page.getByText('port 3005', { exact: true }).waitFor();
      await page.locator('.page-head [role=status]').getByText('running').waitFor();
      const ports = (await page.locator('.timeline li span').allTextContents()).filter((each) =>
        each.startsWith('port'),
      );
      expect(ports).toEqual([3005, 3004, 3003, 3002, 3001, 3000].map((port) => `port ${port}`));

      for (let from = 10_000; from < 15_000; from += 500) await announce(second, from, 500);
      await page.getByText('port 14999', { exact: true }).waitFor();
      expect(await page.locator('.timeline li').count()).toBe(100);
      const { events } = await second.host.services.records.timeline.read(run.runId, {
        after: 5_000,
        limit: 100,
      });
      const earlier = `Show 100 earlier of ${(events.at(-1)?.seq ?? 0) - 100}`;
      await page.getByRole('button', { name: earlier }).click();
      expect(await page.locator('.timeline li').count()).toBe(200);
      await page.reload();
      await page.getByText('port 14999', { exact: true }).waitFor();
      await page.getByRole('button', { name: earlier }).waitFor();
    });

    test('has what was run and written, is searched, and links to each event', async () => {
      const host = second ?? first;
      const run = await makeRun(host, undefined, { title: 'Searched' });
      const of = `/v1/sandbox/${run.sandboxId}`;
      await host.call('POST', `${of}/exec`, {
        token: run.agentToken,
        body: { argv: ['sh', '-c', 'exit 3'] },
      });
      await host.call('PUT', `${of}/file/workspace/notes.txt`, { body: 'a' });
      await page.goto(`${host.host.url}/runs/${run.runId}?drawer=timeline`);
      const events = page.locator('.timeline li');
      await events.getByText(/^sh -c exit 3, exit code 3, .*, by the agent$/).waitFor();
      await events.getByText('/workspace/notes.txt, by local').waitFor();
      await page.getByLabel('Find in events').fill('EXIT 3');
      await page.getByText(/^1 of \d+ events$/).waitFor();
      await events.getByRole('link').click();
      expect(new URL(page.url()).searchParams.get('event')).toBe('s1');
      await page.reload();
      await page.locator('.timeline li.linked').getByText('exit code 3').waitFor();
      await page.getByRole('button', { name: 'Kind' }).click();
      await page.getByRole('option', { name: 'Files', exact: true }).click();
      // The linked event is never filtered out.
      await page.getByText(/^2 of \d+ events$/).waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('shows the output of a command and the changes of a file on demand', async () => {
      const host = second ?? first;
      const run = await makeRun(host, undefined, { title: 'Detailed' });
      const of = `/v1/sandbox/${run.sandboxId}`;
      await host.call('POST', `${of}/exec`, {
        token: run.agentToken,
        body: { argv: ['printf', '\\033[31mred\\033[0m <b>bold</b>\\n'] },
      });
      const file = `${of}/file/workspace/notes.txt`;
      await host.call('PUT', file, { body: 'same\nold\n' });
      await host.call('PUT', file, { body: 'same\nnew\n' });
      await page.goto(`${host.host.url}/runs/${run.runId}?drawer=timeline`);
      const ofCommand = page.locator('.timeline li', { hasText: 'Command ran' });
      await ofCommand.getByRole('button', { name: 'Show output' }).click();
      await ofCommand.getByText('red <b>bold</b>').waitFor();
      await ofCommand.getByRole('button', { name: 'Hide output', expanded: true }).click();
      await ofCommand.getByText('red <b>bold</b>').waitFor({ state: 'detached' });
      const [changed, created] = [0, 1].map((nth) =>
        page.locator('.timeline li', { hasText: 'notes.txt' }).nth(nth),
      );
      await changed?.getByRole('button', { name: 'Show changes' }).press('Enter');
      expect((await changed?.locator('.diff').innerText())?.replace(/\s+/g, ' ').trim()).toMatch(
        /same.*− removed: old.*\+ added: new/,
      );
      await created?.getByRole('button', { name: 'Show changes' }).click();
      await created?.getByText('A new file.').waitFor();
      expect(await violations(page)).toEqual([]);
      await host.call('POST', `${of}/stop`, { body: {} });
      await ofCommand.getByRole('button', { name: 'Show output' }).click();
      await ofCommand.getByText(/^The sandbox does not run/).waitFor();
    });

    test('ends with the run, which then offers nothing that cannot be had any more', async () => {
      const host = second ?? first;
      const run = await makeRun(host, undefined, { title: 'To be done' });
      await page.goto(`${host.host.url}/runs/${run.runId}?drawer=timeline`);
      await page.getByRole('button', { name: 'Complete' }).click();
      await page.getByRole('button', { name: 'Complete it' }).click();
      await page.getByText('Run completed').waitFor();
      await page.getByText('This run has no live preview').waitFor();
      expect(await page.getByRole('button', { name: 'Complete' }).count()).toBe(0);
      expect(await violations(page)).toEqual([]);
    });
  });

  describe('the list of runs', () => {
    let fresh: TestHost;
    let page: Page;
    beforeAll(async () => {
      fresh = await startTestHost();
      page = await here.context.newPage();
    });
    afterAll(async () => {
      await page?.close();
      await fresh?.end();
    });

    test('tells who has none how to get one, with a command that does it', async () => {
      await page.goto(fresh.host.url);
      const command = await page.getByRole('group', { name: 'Command that starts a run' }).textContent();
      expect(await violations(page)).toEqual([]);
      await promisify(execFile)('sh', ['-c', command ?? '']);
      await page.getByRole('link', { name: 'My first run' }).waitFor();
    });

    const choose = async (label: string, option: string) => {
      await page.getByRole('button', { name: label }).click();
      await page.getByRole('option', { name: option, exact: true }).click();
    };

    test('has all of them, some at a time, and finds those of a text and a state', async () => {
      const [known] = (await fresh.call('GET', '/api/runs')).json<{ runs: { run_id: string }[] }>().runs;
      const made = await fresh.host.services.records.runs.get(known?.run_id ?? '');
      if (made === undefined) throw new Error('the first run is gone');
      for (let at = 1; at <= 230; at += 1) {
        await fresh.host.services.records.runs.create({
          ...made,
          id: `run_of_many_${at}`,
          title: `One of many, ${at}`,
          status: at === 5 ? 'completed' : 'running',
          createdAt: new Date(made.createdAt.getTime() + at),
          completedAt: at === 5 ? made.createdAt : null,
        });
      }
      await page.reload();
      await page.getByRole('link', { name: 'One of many, 230' }).waitFor();
      const rows = page.locator('.list tbody tr');
      expect(await rows.count()).toBe(50);
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.getByRole('link', { name: 'One of many, 1', exact: true }).waitFor();
      expect(await rows.count()).toBe(231);
      expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
      await page.getByText('231 runs', { exact: true }).waitFor();
      const find = page.getByRole('searchbox', { name: 'Find' });
      // An older run than the loaded ones, found by the server.
      await page.reload();
      await page.getByText('50 of 231 runs shown').waitFor();
      await find.fill('MANY, 7');
      await page.getByText('11 runs', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'One of many, 7', exact: true }).waitFor();
      await find.fill('');
      await choose('State', 'Completed');
      await page.getByText('1 run', { exact: true }).waitFor();
      expect(await rows.allTextContents()).toEqual([expect.stringContaining('One of many, 5')]);
      await choose('State', 'Any');
      await choose('Sort by', 'Oldest');
      await rows.first().getByText('My first run').waitFor();
      await page.reload();
      await rows.first().getByText('My first run').waitFor();
      await find.fill('nothing of the kind');
      await page.getByText('No run matches').waitFor();
      await page.getByRole('button', { name: 'Show all' }).click();
      await page.getByText('50 of 231 runs shown').waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('completes several at once, and asks to type it for more than ten', async () => {
      const rows = page.locator('.list tbody tr');
      await page.goto(`${fresh.host.url}/?q=many%2C+22`);
      await page.getByText('11 runs', { exact: true }).waitFor();
      await page.getByRole('checkbox', { name: 'All runs shown' }).check({ force: true });
      const bar = page.getByRole('group', { name: 'Selected runs' });
      await bar.getByText('11 selected').waitFor();
      await bar.getByRole('button', { name: 'Complete 11 runs' }).click();
      const dialog = page.getByRole('dialog', { name: 'Complete 11 runs?' });
      await dialog.getByLabel('Type “complete 11 runs” to confirm').fill('complete');
      await dialog.getByRole('button', { name: 'Complete', exact: true }).click();
      await dialog.getByText('Type “complete 11 runs”.').waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog.getByLabel('Type “complete 11 runs” to confirm').fill('complete 11 runs');
      await dialog.getByRole('button', { name: 'Complete', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      await rows.nth(10).getByText('completed').waitFor();
      expect(await rows.getByText('completed', { exact: true }).count()).toBe(11);
      await bar.getByRole('button', { name: 'Clear' }).click();
      await bar.waitFor({ state: 'detached' });
      await page.goto(fresh.host.url);
      await page.getByText('50 of 231 runs shown').waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('says what is wrong in the words of the API, and is there again by itself', async () => {
      await page.route('**/api/runs?*', (route) =>
        route.fulfill({
          status: 503,
          json: { error: 'The records are away: try again in a moment.', code: 'service_unavailable' },
        }),
      );
      await page.reload();
      await page.getByRole('alert').getByText('The records are away').waitFor();
      await page.unroute('**/api/runs?*');
      await page.getByRole('link', { name: 'One of many, 230' }).waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    });

    test('leads nowhere else than to runs that are there', async () => {
      await page.goto(`${fresh.host.url}/runs/run_that_is_not`);
      await page.getByText('There is no such run').waitFor();
    });
  });
});
