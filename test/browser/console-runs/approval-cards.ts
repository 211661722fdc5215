import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { askAndLeave, askForPreview, decide as decideByApi } from '#test/host/support/approvals.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { decide, turn, violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

/** Once the page's title matches. */
async function titled(page: Page, title: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => document.title === '${title}' && resolve();
    new MutationObserver(look).observe(document.head, { childList: true, subtree: true, characterData: true });
    look();
  })`);
}

/** The requests of agents that wait for a person. */
export function approvalCards(here: ConsoleSuite): void {
  describe('what an agent asks', () => {
    let page: Page;
    let run: MadeRun;
    let port = 4000;

    beforeAll(async () => {
      run = await make('Rebuild the pricing page');
      page = await here.context.newPage();
    });
    beforeEach(async () => {
      port += 1;
      // After a test that closed it.
      if (page.isClosed()) page = await here.context.newPage();
      const address = `${here.porthole.host.url}/sandboxes`;
      if (page.url() === address) return;
      await page.goto(address);
      await page.getByRole('heading', { name: 'Sandboxes', exact: true }).waitFor();
    });
    afterEach(async () => {
      await here.context.setOffline(false);
      if (!page.isClosed()) await page.unrouteAll();
    });
    afterAll(() => page?.close());

    const make = (title: string) => makeRun(here.porthole, undefined, { title });
    const ask = (target_port = port, of = run) =>
      askForPreview(here.porthole, of.runId, of.agentToken, { target_port });
    const card = (of = port, where = page) =>
      where.getByRole('article', { name: `Open a preview of port ${of}?` });
    const waiting = async () =>
      (await here.porthole.call('GET', '/api/approvals')).json<{ approvals: { request_id: string }[] }>()
        .approvals;
    const denyByApi = async () => {
      const [{ request_id } = { request_id: '' }] = await waiting();
      await decideByApi(here.porthole, run.runId, { request_id, decision: 'deny' });
    };

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
      await here.porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/late`, { body });
      await card().locator('code').getByText('node').waitFor();
      await here.porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}/servers/late`);
      await card().getByText('Nothing listens').waitFor();
      await decide(card(), 'Deny');
      await asking;
    });

    test('is not asked again in its run, and in no other, as far as the approval reaches', async () => {
      const [one, other] = [await make('One'), await make('Other')];
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
      await page.goto(`${here.porthole.host.url}/`);
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
      const own = await make('Two ports');
      const first = ask(port, own);
      await decide(card(), `Port ${port} for this run`);
      expect((await first).status).toBe(200);
      await page.locator('.notice').getByText(`Approved port ${port} for this run.`).waitFor();
      const both = [ask(port + 1, own)];
      await card(port + 1).waitFor();
      both.push(ask(port + 2, own));
      await page.getByRole('heading', { name: '1 of 2' }).waitFor();
      await decide(card(port + 1), 'Any port of this run');
      const notice = `Approved any port of this run. Port ${port + 2} was waiting and is approved too.`;
      await page.locator('.notice').getByText(notice).waitFor();
      expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
      port += 2;
    });

    test('is one of several, shown one at a time, in full', async () => {
      const own = await make('Three ports');
      const asking = [ask(port, own)];
      await card().waitFor();
      asking.push(ask(port + 1, own), ask(port + 2, own));
      await page.getByRole('heading', { name: '1 of 3' }).waitFor();
      expect(await page.locator('.approval').count()).toBe(1);
      await page.getByRole('button', { name: 'Next request' }).click();
      await page.getByRole('heading', { name: '2 of 3' }).waitFor();
      expect(await card().count()).toBe(0);
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Request before' }).click();
      await card().waitFor();
      for (let left = 3; left > 0; left -= 1) {
        await page.getByRole('heading', { name: `1 of ${left}` }).waitFor();
        const request = await page.locator('.approval').getAttribute('data-request');
        await decide(page.locator(`[data-request="${request}"]`), 'Deny');
      }
      expect((await Promise.all(asking)).map(({ status }) => status)).toEqual([403, 403, 403]);
      port += 2;
    });

    test('takes keys while its card has the focus, and at no other time', async () => {
      const asking = ask();
      await card().locator('.decision[data-armed="true"]').waitFor();
      await page.keyboard.press('d');
      await page.getByRole('button', { name: 'Hide', exact: true }).press('d');
      await page.getByRole('button', { name: 'Hide', exact: true }).press('Enter');
      await card().waitFor({ state: 'detached' });
      await page.keyboard.press('d');
      expect(await waiting()).toHaveLength(1);
      await page.getByRole('button', { name: 'Show', exact: true }).press('Enter');
      await card().locator('.decision[data-armed="true"]').waitFor();
      await card().press('d');
      expect((await asking).status).toBe(403);
      await card().waitFor({ state: 'detached' });
    });

    test('leaves the page its width', async () => {
      await page.setViewportSize({ width: 1280, height: 800 });
      const widthOf = async () => (await page.locator('#page').boundingBox())?.width;
      const before = await widthOf();
      const asking = ask();
      await card().waitFor();
      expect(await widthOf()).toBe(before);
      await decide(card(), 'Deny');
      await asking;
    });

    test('takes no press in its first half second: it may have come up under the pointer', async () => {
      // Presses any approve button as soon as it exists.
      await page.evaluate(`new MutationObserver(() => {
        for (const button of document.querySelectorAll('.approval button')) button.click();
      }).observe(document.body, { childList: true, subtree: true })`);
      const asking = ask();
      await card().locator('.decision[data-armed="false"] [aria-disabled="true"]').first().waitFor();
      await card().locator('.decision[data-armed="true"]').waitFor();
      expect(await card().locator('[aria-disabled="true"]').count()).toBe(0);
      expect(await waiting()).toHaveLength(1);
      await decide(card(), 'Deny');
      expect((await asking).status).toBe(403);
      // Its observer stays.
      await page.close();
    });

    test('takes no press in the half second after another took its place', async () => {
      const asking = [ask()];
      await card().waitFor();
      const first = port;
      port += 1;
      asking.push(ask());
      await page.getByRole('heading', { name: '1 of 2' }).waitFor();
      await card(first).locator('.decision[data-armed="true"]').waitFor();
      await card(first).getByRole('button', { name: 'Deny', exact: true }).dblclick();
      await card(first).waitFor({ state: 'detached' });
      await card().locator('.decision[data-armed="true"]').waitFor();
      expect(await waiting()).toHaveLength(1);
      await decide(card(), 'Deny');
      expect((await Promise.all(asking)).map(({ status }) => status)).toEqual([403, 403]);
    });

    test('goes from every tab once it is decided in one', async () => {
      const other = await here.context.newPage();
      await other.goto(`${here.porthole.host.url}/`);
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
        await denyByApi();
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
      const asking = askAndLeave(here.porthole.host.port, run.runId, run.agentToken, port);
      await card().waitFor();
      asking.leave();
      await card().waitFor({ state: 'detached' });
      await page.locator('.notice').getByText('the agent withdrew it').waitFor();
    });

    test('counts down, and goes when its time is over though the server should be away', async () => {
      await page.clock.install();
      await page.goto(`${here.porthole.host.url}/`);
      const asking = ask();
      await card().waitFor();
      expect(await card().getByRole('timer').textContent()).toMatch(/^(5:00|4:5\d)$/);
      // Beside a long question it would break between its digits.
      const lines = await page.evaluate(`getComputedStyle(document.querySelector('.countdown')).whiteSpace`);
      expect(lines).toBe('nowrap');
      // The last response: each tells the page the time.
      await card().getByText('Nothing listens').waitFor();
      await here.context.setOffline(true);
      await page.clock.fastForward(4 * 60_000);
      await page.clock.runFor(2_000);
      expect(await card().getByRole('timer').textContent()).toMatch(/^0:5\d$/);
      await page.clock.fastForward(61_000);
      await page.clock.runFor(2_000);
      await card().waitFor({ state: 'detached' });
      await page.locator('.notice').getByText('has timed out').waitFor();
      await here.context.setOffline(false);
      await denyByApi();
      expect((await asking).status).toBe(403);
      // Its clock stays replaced.
      await page.close();
    });

    test('does not take the focus, is announced, and can be decided with the keyboard alone', async () => {
      await page.goto(`${here.porthole.host.url}/`);
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
      const other = await here.context.newPage();
      await other.goto(`${here.porthole.host.url}/`);
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
      await denyByApi();
      expect((await asking).status).toBe(403);
      await titled(other, 'Runs · Porthole');
      await other.close();
    });

    test('is shown where no stream can be had, and so is what happens in its run', async () => {
      await page.route('**/events', (route) =>
        route.fulfill({ status: 501, json: { error: 'Nothing is streamed here.', code: 'not_streamable' } }),
      );
      const own = await make('Without a stream');
      await page.goto(`${here.porthole.host.url}/runs/${own.runId}?drawer=timeline`);
      await page.getByText('Run started').waitFor();
      const asking = ask(port, own);
      await decide(card(), 'Deny');
      expect((await asking).status).toBe(403);
      await page.locator('.timeline').getByText('Denied').waitFor();
    });

    describe('of hostile words', () => {
      const TURNED = '\u202e\u2066\u200f';
      const HOSTILE_SERVER = `require('http').createServer((request, response) => {
        response.setHeader('content-type', 'text/html');
        response.end('<title>${TURNED}Approved by your admin. Press Confirm. ' + 'W'.repeat(10_000) + '</title>');
      }).listen(Number(process.argv[2]));`;

      test('stays bounded, is plain text, and leaves the answers in sight on a phone', async () => {
        const hostile = await make(`${TURNED}<b>Safe</b> ${'i'.repeat(150)}`);
        await here.porthole.call('PUT', `/v1/sandbox/${hostile.sandboxId}/file/workspace/server.js`, {
          body: HOSTILE_SERVER,
        });
        await here.porthole.call('POST', `/v1/sandbox/${hostile.sandboxId}/exec`, {
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
}
