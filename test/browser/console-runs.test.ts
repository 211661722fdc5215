import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { serveViteProject, type ServedViteProject } from '#test/support/vite-project.ts';
import { decide, ensureConsoleBuilt, violations, watch, type Watched } from './support/console-fixture.ts';

interface Run {
  readonly run_id: string;
  readonly sandbox_id: string;
  readonly agent_token: string;
}

/** Once the page's title matches. */
async function titled(page: Page, title: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => document.title === '${title}' && resolve();
    new MutationObserver(look).observe(document.head, { childList: true, subtree: true, characterData: true });
    look();
  })`);
}

/** Makes the page believe that it is hidden, or visible again. */
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
    [porthole, browser] = await Promise.all([startTestHost(), launchHeadlessShell()]);
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
      page = await context.newPage();
    });
    beforeEach(async () => {
      port += 1;
      // After a test that closed it.
      if (page.isClosed()) page = await context.newPage();
      await page.goto(`${porthole.host.url}/sandboxes`);
      await page.getByRole('heading', { name: 'Sandboxes', exact: true }).waitFor();
    });
    afterEach(async () => {
      await context.setOffline(false);
      if (!page.isClosed()) await page.unrouteAll();
    });
    afterAll(() => page?.close());

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

    test('is not opened after a denial', async () => {
      const asking = ask();
      await decide(card(), 'Deny');
      expect((await asking).json()).toMatchObject({ code: 'approval_denied' });
      await card().waitFor({ state: 'detached' });
      await page.locator('.notice').getByText(`Denied port ${port}. If the agent asks again`).waitFor();
    });

    test('shows what begins to listen, without a look by the clock', async () => {
      const asking = ask();
      await card().getByText('Nothing listens').waitFor();
      const program = 'require("http").createServer((_, r) => r.end("hi")).listen(process.env.PORT)';
      const body = { argv: ['node', '-e', program], port };
      await porthole.call('PUT', `/v1/sandbox/${run.sandbox_id}/servers/late`, { body });
      await card().locator('code').getByText('node').waitFor();
      await porthole.call('DELETE', `/v1/sandbox/${run.sandbox_id}/servers/late`);
      await card().getByText('Nothing listens').waitFor();
      await decide(card(), 'Deny');
      await asking;
    });

    test('is not asked again in its run, and in no other, as far as the approval reaches', async () => {
      const [one, other] = [await makeRun('One'), await makeRun('Other')];
      const first = ask(port, one);
      await decide(card(), 'Any port of this run');
      expect((await first).status).toBe(200);
      await page.locator('.notice').getByText('Approved any port of this run.').waitFor();
      expect((await ask(port + 1, one)).status).toBe(200);
      port += 1;
      const second = ask(port, other);
      await card().locator('.decision[data-armed="true"]').waitFor();
      await card().getByRole('button', { name: 'Any port of all my runs' }).dblclick();
      await card().getByText('Press again to confirm').waitFor();
      expect(await violations(page)).toEqual([]);
      expect(await waiting()).toHaveLength(1);
      await decide(card(), 'Confirm: any port of all my runs');
      expect((await second).status).toBe(200);
      await page.locator('.notice').getByText('Approved any port of all your runs.').waitFor();
      expect((await ask(port, run)).status).toBe(200);
      await page.goto(`${porthole.host.url}/`);
      const policies = page.getByRole('region', { name: 'Approved without a question' });
      await policies.getByText('Previews of any port in all runs of local').waitFor();
      expect(await violations(page)).toEqual([]);
      for (const left of [1, 0]) {
        await policies.getByRole('button', { name: 'Ask again' }).first().click();
        await policies.getByRole('listitem').nth(left).waitFor({ state: 'detached' });
      }
      const asked = ask(port + 1, other);
      await decide(card(port + 1), 'Deny');
      expect((await asked).status).toBe(403);
    });

    test('is approved for its port and run alone, and the toast tells what else that approved', async () => {
      const own = await makeRun('Two ports');
      const first = ask(port, own);
      await decide(card(), `Port ${port} for this run`);
      expect((await first).status).toBe(200);
      await page.locator('.notice').getByText(`Approved port ${port} for this run.`).waitFor();
      const both = [ask(port + 1, own), ask(port + 2, own)];
      await card(port + 2).waitFor();
      await decide(card(port + 1), 'Any port of this run');
      const notice = `Approved any port of this run. Port ${port + 2} was waiting and is approved too.`;
      await page.locator('.notice').getByText(notice).waitFor();
      expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
      port += 2;
    });

    test('is answered together with others, and a confirmation names each', async () => {
      const own = await makeRun('Three ports');
      const dock = page.locator('.dock');
      const both = async () => {
        const asking = [ask(port, own), ask(port + 1, own)];
        await card(port).waitFor();
        await card(port + 1)
          .locator('.decision[data-armed="true"]')
          .waitFor();
        return asking;
      };
      const denied = await both();
      await dock.getByRole('button', { name: 'Deny these 2' }).click();
      expect((await Promise.all(denied)).map(({ status }) => status)).toEqual([403, 403]);
      await dock.getByText('Denied 2 requests once.').waitFor();
      const approved = await both();
      await dock.getByRole('button', { name: 'Approve these 2 once' }).click();
      await dock.getByText(`port ${port} of Three ports, port ${port + 1} of Three ports`).waitFor();
      expect(await waiting()).toHaveLength(2);
      expect(await violations(page)).toEqual([]);
      await dock.getByRole('button', { name: 'Confirm: approve 2 once' }).click();
      expect((await Promise.all(approved)).map(({ status }) => status)).toEqual([200, 200]);
      port += 1;
    });

    test('covers nothing of the page in a window that has space beside it', async () => {
      await page.setViewportSize({ width: 1280, height: 800 });
      const asking = ask();
      await card().waitFor();
      const box = await page.locator('.dock').boundingBox();
      const content = await page.locator('#page').boundingBox();
      expect((content?.x ?? 0) + (content?.width ?? 0)).toBeLessThanOrEqual(box?.x ?? 0);
      await decide(card(), 'Deny');
      await asking;
    });

    test('takes no press in its first half second: it may have come up under the pointer', async () => {
      // Presses any approve button as soon as it exists.
      await page.evaluate(`new MutationObserver(() => {
        for (const button of document.querySelectorAll('.approval button')) button.click();
      }).observe(document.body, { childList: true, subtree: true })`);
      const asking = ask();
      await card().locator('.decision[data-armed="false"]').waitFor();
      await card().locator('.decision[data-armed="true"]').waitFor();
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
      const denies = page.locator('.dock').getByRole('button', { name: 'Deny', exact: true });
      await card(first).locator('.decision[data-armed="true"]').waitFor();
      await denies.first().dblclick();
      await card(first).waitFor({ state: 'detached' });
      await card().locator('.decision[data-armed="true"]').waitFor();
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
      await other.locator('.notice').getByText(`The request for port ${port} is closed`).waitFor();
      expect((await asking).status).toBe(403);
      await other.close();
    });

    test('says in a sentence that it was decided elsewhere in the same moment', async () => {
      const asking = ask();
      await card().waitFor();
      await page.route('**/tool-approvals', async (route) => {
        const [{ request_id } = { request_id: '' }] = await waiting();
        await porthole.call('POST', `/api/runs/${run.run_id}/tool-approvals`, {
          body: { request_id, decision: 'deny' },
        });
        await route.continue();
      });
      // Delayed, so that the page does not see the event before the response to its own decision.
      await decide(card(), 'Approve once');
      await card().waitFor({ state: 'detached' });
      const said = await page.locator('.notice').textContent();
      expect(said).toMatch(
        /^(This was already decided, in another window|The request for port \d+ is closed)/,
      );
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
      await page.locator('.notice').getByText('the agent withdrew it').waitFor();
    });

    test('counts down, and goes when its time is over though the server should be away', async () => {
      await page.clock.install();
      await page.goto(`${porthole.host.url}/`);
      const asking = ask();
      await card().waitFor();
      expect(await card().getByRole('timer').textContent()).toMatch(/^(5:00|4:5\d)$/);
      // The last response: each tells the page the time.
      await card().getByText('Nothing listens').waitFor();
      await context.setOffline(true);
      await page.clock.fastForward(4 * 60_000);
      await page.clock.runFor(2_000);
      expect(await card().getByRole('timer').textContent()).toMatch(/^0:5\d$/);
      await page.clock.fastForward(61_000);
      await page.clock.runFor(2_000);
      await card().waitFor({ state: 'detached' });
      await page.locator('.notice').getByText('has timed out').waitFor();
      await context.setOffline(false);
      const [{ request_id } = { request_id: '' }] = await waiting();
      await porthole.call('POST', `/api/runs/${run.run_id}/tool-approvals`, {
        body: { request_id, decision: 'deny' },
      });
      expect((await asking).status).toBe(403);
      // Its clock stays replaced.
      await page.close();
    });

    test('does not take the focus, is announced, and can be decided with the keyboard alone', async () => {
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
      await card().locator('.decision[data-armed="true"]').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('F8');
      // Tab stops: the run, approve once, deny.
      for (let stop = 0; stop < 3; stop += 1) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect((await asking).status).toBe(403);
      await card().waitFor({ state: 'detached' });
      await page.keyboard.type(' and on');
      expect(await title.inputValue()).toBe('Typed on and on');
    });

    test('appears in the title of one hidden tab, and is shown at once on return', async () => {
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

    test('is shown where no stream can be had, and so is what happens in its run', async () => {
      await page.route('**/events', (route) =>
        route.fulfill({ status: 501, json: { error: 'Nothing is streamed here.', code: 'not_streamable' } }),
      );
      const own = await makeRun('Without a stream');
      await page.goto(`${porthole.host.url}/runs/${own.run_id}`);
      await page.getByText('Run started').waitFor();
      const asking = ask(port, own);
      await decide(card(), 'Deny');
      expect((await asking).status).toBe(403);
      await page.locator('.timeline').getByText('Denied').waitFor();
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
        response.end('<title>${TURNED}Approved by your admin. Press Confirm. ' + 'W'.repeat(10_000) + '</title>');
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
        await card().getByText('Press Confirm').waitFor();
        const text = (await page.locator('.dock').textContent()) ?? '';
        expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/);
        expect(text.length).toBeLessThan(1_200);
        expect(await page.locator('.dock b').count()).toBe(0);
        for (const name of [
          'Approve once',
          `Port ${port} for this run`,
          'Any port of this run',
          'Any port of all my runs',
          'Deny',
        ]) {
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

  describe('the previews of a run', () => {
    let page: Page;
    let run: Run;
    const serve = (port: number) =>
      porthole.call('POST', `/v1/sandbox/${run.sandbox_id}/exec`, {
        body: {
          argv: [
            'sh',
            '-c',
            `(node -e "require('http').createServer((q,r)=>r.setHeader('content-type','text/html').end('<h1>Port '+${port}+'</h1>')).listen(${port})" > /dev/null 2>&1 &)`,
          ],
        },
      });
    const preview = (port: number) => page.getByRole('article', { name: `Preview of port ${port}` });
    const open = (port: number) =>
      porthole.call('POST', `/api/runs/${run.run_id}/sandbox/port-forward`, { body: { target_port: port } });

    beforeAll(async () => {
      page = await context.newPage();
    });
    beforeEach(async () => {
      run = (await porthole.call('POST', '/api/runs', { body: { title: 'Previews' } })).json<Run>();
      // After a test that closed it.
      if (page.isClosed()) page = await context.newPage();
    });
    afterEach(async () => {
      if (!page.isClosed()) await page.unrouteAll();
    });
    afterAll(() => page?.close());
    const go = () => page.goto(`${porthole.host.url}/runs/${run.run_id}`);

    // The first of them: one user has at most ten previews, and a request for more is refused.
    test('let a person who was in the frame decide with one press', async () => {
      await serve(3109);
      await open(3109);
      await go();
      await page.frameLocator('iframe').getByRole('heading', { name: 'Port 3109' }).click();
      const asking = porthole.call('POST', `/api/runs/${run.run_id}/sandbox/preview`, {
        token: run.agent_token,
        body: { target_port: 3110 },
      });
      await decide(page.getByRole('article', { name: 'Open a preview of port 3110?' }), 'Deny');
      expect((await asking).status).toBe(403);
    });

    test('are started by a typed port, say why they do not serve, and show the app once it does', async () => {
      await go();
      await page.getByPlaceholder('3000–9000').fill('3');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      const refused = page.getByText('A port is a number from 3000 to 9000.');
      await refused.waitFor();
      // The message disappears on the key that fixes it, so that nothing moves away from under the
      // press.
      await page.getByRole('textbox', { name: 'Another port' }).fill('3100');
      await refused.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await preview(3100).getByText('Nothing listens on port 3100').waitFor();
      expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Preview of port 3100');
      expect(await violations(page)).toEqual([]);
      await serve(3100);
      await page.frameLocator('iframe').getByRole('heading', { name: 'Port 3100' }).waitFor();
      await preview(3100).getByText('Running', { exact: true }).waitFor();
      await preview(3100).getByRole('button', { name: 'Page check' }).click();
      await preview(3100).getByRole('button', { name: 'Check page' }).click();
      await preview(3100).getByText('Works', { exact: true }).waitFor();
      await preview(3100).getByText('No request failed.').waitFor();
      expect(await violations(page)).toEqual([]);
      await page
        .frameLocator('iframe')
        .locator('h1')
        .evaluate((heading) => {
          heading.textContent = 'Elsewhere';
        });
      await page.frameLocator('iframe').getByRole('heading', { name: 'Elsewhere' }).waitFor();
      await preview(3100).getByRole('button', { name: 'Reload' }).click();
      await page.frameLocator('iframe').getByRole('heading', { name: 'Port 3100' }).waitFor();
      await preview(3100).getByRole('button', { name: 'Stop' }).click();
      await preview(3100).waitFor({ state: 'detached' });
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Previews');
    });

    test('are offered the moment that a server listens, and no longer once it is gone', async () => {
      const servers = `/v1/sandbox/${run.sandbox_id}/servers`;
      await go();
      const offer = page.getByRole('button', { name: 'Start a preview of port 3102' });
      const argv = ['node', '-e', "require('http').createServer((q, r) => r.end('hi')).listen(3102)"];
      await porthole.call('PUT', `${servers}/web`, { body: { argv, port: 3102 } });
      await offer.waitFor();
      await page.getByText('Port listens').waitFor();
      // The next scheduled poll is a minute away.
      await porthole.call('DELETE', `${servers}/web`);
      await offer.waitFor({ state: 'detached' });
      await page.getByText('Port closed').waitFor();
      const command = 'echo no such module; exit 1';
      await porthole.call('PUT', `${servers}/broken`, { body: { command, port: 3103, restart: 'never' } });
      await page.getByRole('textbox', { name: 'Another port' }).fill('3103');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByText('Server broken failed. It printed last:').waitFor();
      await page.getByText('no such module', { exact: true }).waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('open paths, go back and forward over them, and refuse other origins', async () => {
      const script = `require('http').createServer((q, r) => r.setHeader('content-type', 'text/html').end('<h1>At ' + q.url + '</h1>')).listen(3111, () => console.log('shop is open'))`;
      await porthole.call('PUT', `/v1/sandbox/${run.sandbox_id}/servers/shop`, {
        body: { argv: ['node', '-e', script], port: 3111 },
      });
      await open(3111);
      await go();
      const at = (path: string) =>
        page
          .frameLocator('iframe')
          .getByRole('heading', { name: `At ${path}`, exact: true })
          .waitFor();
      const address = preview(3111).getByRole('textbox', { name: 'Path on port 3111' });
      const press = (name: string) => preview(3111).getByRole('button', { name, exact: true }).click();
      await at('/');
      const back = preview(3111).getByRole('button', { name: 'Back' });
      expect(await back.isDisabled()).toBe(true);
      await address.fill('pricing?plan=team');
      await address.press('Enter');
      await at('/pricing?plan=team');
      await press('Back');
      await at('/');
      expect(await address.inputValue()).toBe('/');
      await press('Forward');
      await at('/pricing?plan=team');
      await address.fill('https://elsewhere.example/');
      await address.press('Enter');
      await preview(3111).getByText('“https://elsewhere.example/” is not on this preview.').waitFor();
      expect(await violations(page)).toEqual([]);
      await preview(3111).getByRole('button', { name: 'Size' }).click();
      await page.getByRole('option', { name: 'Phone 390 × 844' }).click();
      const width = () =>
        page
          .frameLocator('iframe')
          .locator('h1')
          .evaluate((h) => h.ownerDocument.defaultView?.innerWidth);
      await at('/pricing?plan=team');
      expect(await width()).toBe(390);
      await preview(3111).getByRole('button', { name: 'Rotate' }).click();
      expect(await width()).toBe(844);
      await press('Server log');
      await preview(3111).getByRole('log').getByText('shop is open').waitFor();
      expect(await violations(page)).toEqual([]);
      // The browser's own history still leaves the page with one step.
      await page.goBack();
      expect(page.url()).not.toContain(run.run_id);
    });

    test('say that their sandbox is stopped, and resume it', async () => {
      await serve(3101);
      await open(3101);
      await porthole.call('POST', `/v1/sandbox/${run.sandbox_id}/stop`);
      await go();
      await preview(3101).getByText('The sandbox is stopped.').waitFor();
      await preview(3101).getByRole('button', { name: 'Resume the sandbox' }).click();
      await preview(3101).getByText('Nothing listens').waitFor();
    });

    test('are as many as a run may have, and the next one is refused in words', async () => {
      for (const port of [3102, 3103, 3104]) await open(port);
      await go();
      await page.getByRole('tab', { name: ':3104' }).waitFor();
      await page.getByRole('tab', { name: 'New preview' }).click();
      await page.getByRole('textbox', { name: 'Another port' }).fill('3105');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByRole('alert').getByText('stop one').waitFor();
    });

    test('are kept alive each minute while they are visible, and not otherwise', async () => {
      await open(3106);
      await page.clock.install();
      let kept = 0;
      await page.route('**/keepalive', (route) => {
        kept += 1;
        return route.continue();
      });
      const pings = () => page.waitForResponse('**/keepalive');
      const first = pings();
      await go();
      await first;
      await preview(3106).getByText('ends in ').waitFor();
      const second = pings();
      await page.clock.fastForward(60_500);
      await second;
      await turn(page, 'hidden');
      await page.clock.fastForward(10 * 60_000);
      expect(kept).toBe(2);
      const third = pings();
      await turn(page, 'visible');
      await third;
      expect(kept).toBe(3);
      // Its clock stays replaced.
      await page.close();
    });

    test('say so when they cannot be kept alive', async () => {
      await open(3107);
      await page.route('**/keepalive', (route) => route.abort());
      await go();
      await preview(3107).getByText('The preview is not kept alive: Can’t reach Porthole').waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('give their link away where there is no clipboard to write to, and where nothing may be copied', async () => {
      const { preview_url: url } = (await open(3108)).json<{ preview_url: string }>();
      await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
      await go();
      await preview(3108).getByRole('button', { name: 'Copy link' }).click();
      await preview(3108).getByRole('button', { name: 'Copied' }).waitFor();
      await page.getByRole('tab', { name: 'New preview' }).click();
      const field = page.getByRole('textbox', { name: 'Another port' });
      await field.focus();
      await page.keyboard.press('ControlOrMeta+v');
      expect(await field.inputValue()).toBe(url);
      await page.getByRole('tab', { name: ':3108' }).click();
      await page.evaluate('void (document.execCommand = () => false)');
      await preview(3108).getByRole('button', { name: /Cop/ }).click();
      const link = preview(3108).getByRole('textbox', { name: 'The browser doesn’t allow copying here' });
      expect(await link.inputValue()).toBe(url);
      await preview(3108).getByRole('button', { name: 'Share' }).click();
      await page.getByText('Anyone with the link can see the app').waitFor();
      await page.getByRole('img', { name: 'The address of the preview as a QR code' }).waitFor();
      expect(await violations(page)).toEqual([]);
      // It has no clipboard any more.
      await page.close();
    });

    test('are frames of their own zone, and nothing else is', async () => {
      await go();
      await page.getByRole('heading', { name: 'Previews', level: 1 }).waitFor();
      const blocked = await page.evaluate(`new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
        const frame = document.createElement('iframe');
        frame.src = location.origin + '/health';
        document.body.append(frame);
      })`);
      expect(blocked).toBe('frame-src');
    });
  });

  describe('the timeline of a run', () => {
    let page: Page;
    let first: TestHost;
    let second: TestHost | undefined;
    beforeAll(async () => {
      first = await startTestHost();
      page = await context.newPage();
    });
    afterAll(async () => {
      await page?.close();
      await (second ?? first)?.end();
    });

    test('goes on without a gap or a repeat when the server goes away and comes back', async () => {
      const run = (await first.call('POST', '/api/runs', { body: {} })).json<Run>();
      const announce = (host: TestHost, from: number, count: number) =>
        host.host.services.records.timeline.append(
          run.run_id,
          Array.from({ length: count }, (_, at) => ({
            type: 'preview.kept' as const,
            key: `event-${from + at}`,
            data: { target_port: from + at },
          })),
          new Date(),
        );
      await announce(first, 3000, 3);
      await page.goto(`${first.host.url}/runs/${run.run_id}`);
      await page.getByText('port 3002', { exact: true }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      await first.close();
      await page.locator('.page-head').getByText('Reconnecting…').waitFor();
      second = await startTestHost({ PORT: String(first.host.port) }, { dataDir: first.dataDir });
      await announce(second, 3003, 3);
      await page.getByText('port 3005', { exact: true }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      const ports = (await page.locator('.timeline li span').allTextContents()).filter((each) =>
        each.startsWith('port'),
      );
      expect(ports).toEqual([3005, 3004, 3003, 3002, 3001, 3000].map((port) => `port ${port}`));

      for (let from = 10_000; from < 15_000; from += 500) await announce(second, from, 500);
      await page.getByText('port 14999', { exact: true }).waitFor();
      expect(await page.locator('.timeline li').count()).toBe(100);
      const { events } = await second.host.services.records.timeline.read(run.run_id, {
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
      const run = (await host.call('POST', '/api/runs', { body: { title: 'Searched' } })).json<Run>();
      const of = `/v1/sandbox/${run.sandbox_id}`;
      await host.call('POST', `${of}/exec`, {
        token: run.agent_token,
        body: { argv: ['sh', '-c', 'exit 3'] },
      });
      await host.call('PUT', `${of}/file/workspace/notes.txt`, { body: 'a' });
      await page.goto(`${host.host.url}/runs/${run.run_id}`);
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
      const run = (await host.call('POST', '/api/runs', { body: { title: 'Detailed' } })).json<Run>();
      const of = `/v1/sandbox/${run.sandbox_id}`;
      await host.call('POST', `${of}/exec`, {
        token: run.agent_token,
        body: { argv: ['printf', '\\033[31mred\\033[0m <b>bold</b>\\n'] },
      });
      const file = `${of}/file/workspace/notes.txt`;
      await host.call('PUT', file, { body: 'same\nold\n' });
      await host.call('PUT', file, { body: 'same\nnew\n' });
      await page.goto(`${host.host.url}/runs/${run.run_id}`);
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
      const run = (await host.call('POST', '/api/runs', { body: { title: 'To be done' } })).json<Run>();
      await page.goto(`${host.host.url}/runs/${run.run_id}`);
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
      page = await context.newPage();
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
      const [known] = (await fresh.call('GET', '/api/runs')).json<{ runs: Run[] }>().runs;
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
