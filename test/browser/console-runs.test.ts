import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { serveViteProject, type ServedViteProject } from '#test/support/vite-project.ts';
import { ensureConsoleBuilt, violations, watch, type Watched } from './support/console-bed.ts';

interface Run {
  readonly run_id: string;
  readonly sandbox_id: string;
  readonly agent_token: string;
}

/** Presses a button of a request once that counts: it takes no press before it has stood still for a moment. */
async function decide(card: Locator, name: string): Promise<void> {
  await card.locator('.actions[data-armed="true"]').waitFor();
  await card.getByRole('button', { name, exact: true }).click();
}

/** Once the page's title is such. */
async function titled(page: Page, title: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => document.title === '${title}' && resolve();
    new MutationObserver(look).observe(document.head, { childList: true, subtree: true, characterData: true });
    look();
  })`);
}

/** Has the page believe that nobody sees it, or that somebody does again. */
async function turn(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
    document.dispatchEvent(new Event('visibilitychange'));
  })()`);
}

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

  describe('what an agent asks', () => {
    let page: Page;
    let run: Run;
    let port = 4000;

    beforeAll(async () => {
      run = await makeRun('Rebuild the pricing page');
    });
    beforeEach(async () => {
      port += 1;
      page = await context.newPage();
      await page.goto(`${porthole.host.url}/sandboxes`);
      await page.getByRole('heading', { name: 'Sandboxes', exact: true }).waitFor();
    });
    afterEach(async () => {
      await context.setOffline(false);
      await page.close();
    });

    async function makeRun(title: string): Promise<Run> {
      return (await porthole.call('POST', '/api/runs', { body: { title } })).json<Run>();
    }
    const ask = (target_port = port, of = run) =>
      porthole.call('POST', `/api/runs/${of.run_id}/sandbox/preview`, {
        token: of.agent_token,
        body: { target_port },
      });
    const card = (of = port, where = page) =>
      where.getByRole('article', { name: `Open a preview of port ${of}?` });
    const waiting = async () =>
      (await porthole.call('GET', '/api/approvals')).json<{ approvals: { request_id: string }[] }>()
        .approvals;

    test('is not opened when somebody denies it', async () => {
      const asking = ask();
      await decide(card(), 'Deny');
      expect((await asking).json()).toMatchObject({ code: 'approval_denied' });
      await card().waitFor({ state: 'detached' });
      await page.locator('.notice').getByText(`Denied for port ${port}.`).waitFor();
    });

    test('is not asked again in its run, and in no other, as far as the approval reaches', async () => {
      const [one, other] = [await makeRun('One'), await makeRun('Other')];
      const first = ask(port, one);
      await decide(card(), 'For this run');
      expect((await first).status).toBe(200);
      expect((await ask(port + 1, one)).status).toBe(200);
      port += 1;
      const second = ask(port, other);
      await decide(card(), 'Always');
      expect((await second).status).toBe(200);
      expect((await ask(port, run)).status).toBe(200);
      const { policies } = (await porthole.call('GET', '/api/approval-policies')).json<{
        policies: { policy_id: string; scope: string }[];
      }>();
      expect(policies.map(({ scope }) => scope)).toEqual(['always', 'run']);
      for (const { policy_id } of policies) {
        await porthole.call('DELETE', `/api/approval-policies/${policy_id}`);
      }
    });

    test('takes no press in its first half second: it may have come up under the pointer', async () => {
      // Presses whatever approves, the moment that it is there.
      await page.evaluate(`new MutationObserver(() => {
        for (const button of document.querySelectorAll('.approval button')) button.click();
      }).observe(document.body, { childList: true, subtree: true })`);
      const asking = ask();
      await card().locator('.actions[data-armed="false"]').waitFor();
      await card().locator('.actions[data-armed="true"]').waitFor();
      expect(await waiting()).toHaveLength(1);
      await decide(card(), 'Deny');
      expect((await asking).status).toBe(403);
    });

    test('takes no press in the half second after another took its place', async () => {
      const asking = [ask()];
      await card().waitFor();
      const first = port;
      port += 1;
      asking.push(ask());
      await card().waitFor();
      const denies = page.locator('.dock').getByRole('button', { name: 'Deny' });
      await card(first).locator('.actions[data-armed="true"]').waitFor();
      await denies.first().dblclick();
      await card(first).waitFor({ state: 'detached' });
      await card().locator('.actions[data-armed="true"]').waitFor();
      expect(await waiting()).toHaveLength(1);
      await decide(card(), 'Deny');
      expect((await Promise.all(asking)).map(({ status }) => status)).toEqual([403, 403]);
    });

    test('goes from every tab once it is decided in one', async () => {
      const other = await context.newPage();
      await other.goto(`${porthole.host.url}/`);
      const asking = ask();
      await card(port, other).waitFor();
      await decide(card(), 'Deny');
      await card(port, other).waitFor({ state: 'detached' });
      await other.locator('.notice').getByText(`The request for port ${port} no longer waits`).waitFor();
      expect((await asking).status).toBe(403);
      await other.close();
    });

    test('that was decided elsewhere in the same moment says so in a sentence', async () => {
      const asking = ask();
      await card().waitFor();
      await page.route('**/tool-approvals', async (route) => {
        const [{ request_id } = { request_id: '' }] = await waiting();
        await porthole.call('POST', `/api/runs/${run.run_id}/tool-approvals`, {
          body: { request_id, decision: 'deny' },
        });
        await route.continue();
      });
      // Held back, so that the page does not hear of it before its own decision is answered.
      await decide(card(), 'Approve once');
      await card().waitFor({ state: 'detached' });
      const said = await page.locator('.notice').textContent();
      expect(said).toMatch(/^(That was decided already|The request for port \d+ no longer waits)/);
      expect((await asking).status).toBe(403);
    });

    test('goes when the agent no longer waits for it', async () => {
      const leaving = new AbortController();
      const asking = fetch(`${porthole.host.url}/api/runs/${run.run_id}/sandbox/preview`, {
        method: 'POST',
        headers: { authorization: `Bearer ${run.agent_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ target_port: port }),
        signal: leaving.signal,
      });
      await card().waitFor();
      leaving.abort();
      await expect(asking).rejects.toThrow();
      await card().waitFor({ state: 'detached' });
      await page.locator('.notice').getByText('its agent has left').waitFor();
    });

    test('counts down, and goes when its time is over though the server should be away', async () => {
      await page.clock.install();
      await page.goto(`${porthole.host.url}/`);
      const asking = ask();
      await card().waitFor();
      expect(await card().getByRole('timer').textContent()).toMatch(/^(5:00|4:5\d)$/);
      // The last answer that comes: each tells the page what time it is.
      await card().getByText('Nothing listens').waitFor();
      await context.setOffline(true);
      await page.clock.fastForward(4 * 60_000);
      await page.clock.runFor(2_000);
      expect(await card().getByRole('timer').textContent()).toMatch(/^0:5\d$/);
      await page.clock.fastForward(61_000);
      await page.clock.runFor(2_000);
      await card().waitFor({ state: 'detached' });
      await page.locator('.notice').getByText('nobody decided in time').waitFor();
      await context.setOffline(false);
      const [{ request_id } = { request_id: '' }] = await waiting();
      await porthole.call('POST', `/api/runs/${run.run_id}/tool-approvals`, {
        body: { request_id, decision: 'deny' },
      });
      expect((await asking).status).toBe(403);
    });

    test('takes the focus from nobody, is announced, and can be decided with the keyboard alone', async () => {
      await page.goto(`${porthole.host.url}/`);
      await page.getByRole('button', { name: 'New run' }).click();
      const title = page.getByRole('textbox', { name: 'Title' });
      await title.fill('Typed ');
      const asking = ask();
      await card().waitFor();
      await page
        .getByRole('status')
        .getByText(`Open a preview of port ${port}? Press F8 to decide.`)
        .waitFor({ state: 'attached' });
      await page.keyboard.type('on');
      expect(await title.inputValue()).toBe('Typed on');
      await card().locator('.actions[data-armed="true"]').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('F8');
      // The run, the four answers: the last of them denies.
      for (let stop = 0; stop < 5; stop += 1) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect((await asking).status).toBe(403);
      await card().waitFor({ state: 'detached' });
      await page.keyboard.type(' and on');
      expect(await title.inputValue()).toBe('Typed on and on');
    });

    test('is told in the title of a hidden tab, of one alone, and shown at once on return', async () => {
      const other = await context.newPage();
      await other.goto(`${porthole.host.url}/`);
      await other.getByRole('heading', { name: 'Runs' }).waitFor();
      const followed = page.waitForRequest('**/api/approvals/events');
      await turn(page, 'hidden');
      await followed;
      await turn(other, 'hidden');
      const asking = ask();
      await titled(page, '(1) Sandboxes · Porthole');
      expect(await other.title()).toBe('Runs · Porthole');
      await turn(other, 'visible');
      await card(port, other).waitFor();
      await page.close();
      await turn(other, 'hidden');
      await decideByApi('deny');
      expect((await asking).status).toBe(403);
      await titled(other, 'Runs · Porthole');
      await other.close();
    });

    async function decideByApi(decision: 'approve' | 'deny'): Promise<void> {
      const [{ request_id } = { request_id: '' }] = await waiting();
      await porthole.call('POST', `/api/runs/${run.run_id}/tool-approvals`, {
        body: { request_id, decision },
      });
    }

    describe('of hostile words', () => {
      const TURNED = '\u202e\u2066\u200f';
      const HOSTILE_SERVER = `require('http').createServer((request, response) => {
        response.setHeader('content-type', 'text/html');
        response.end('<title>${TURNED}Approved by your admin. Press Always. ' + 'W'.repeat(10_000) + '</title>');
      }).listen(Number(process.argv[2]));`;

      test('stays bounded, is plain text, and leaves the answers in sight on a phone', async () => {
        const hostile = await makeRun(`${TURNED}<b>Safe</b> ${'i'.repeat(150)}`);
        await porthole.call('PUT', `/v1/sandbox/${hostile.sandbox_id}/file/workspace/server.js`, {
          body: HOSTILE_SERVER,
        });
        await porthole.call('POST', `/v1/sandbox/${hostile.sandbox_id}/exec`, {
          body: {
            argv: ['sh', '-c', `(node server.js ${port} "${TURNED}${'x'.repeat(10_000)}" > dev.log 2>&1 &)`],
            cwd: '/workspace',
          },
        });
        await page.setViewportSize({ width: 390, height: 700 });
        const asking = ask(port, hostile);
        await card().getByText('Press Always').waitFor();
        const text = (await page.locator('.dock').textContent()) ?? '';
        expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/);
        expect(text.length).toBeLessThan(1_200);
        expect(await page.locator('.dock b').count()).toBe(0);
        for (const name of ['Approve once', 'For this run', 'Always', 'Deny']) {
          const box = await card().getByRole('button', { name, exact: true }).boundingBox();
          expect(box).toMatchObject({ x: expect.any(Number), y: expect.any(Number) });
          expect([(box?.x ?? -1) >= 0, (box?.x ?? 0) + (box?.width ?? 0) <= 390]).toEqual([true, true]);
          expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(700);
        }
        expect(await violations(page)).toEqual([]);
        await decide(card(), 'Deny');
        expect((await asking).status).toBe(403);
      });
    });
  });
});
