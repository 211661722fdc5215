import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { askForPreview } from '#test/host/support/approvals.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { decide, turn, violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

/** The frames of a run's page, which show its previews. */
export function previewPanes(here: ConsoleSuite): void {
  describe('the previews of a run', () => {
    let page: Page;
    let run: MadeRun;
    const serve = (port: number) =>
      here.porthole.call('POST', `/v1/sandbox/${run.sandboxId}/exec`, {
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
      here.porthole.call('POST', `/api/runs/${run.runId}/sandbox/port-forward`, {
        body: { target_port: port },
      });

    beforeAll(async () => {
      page = await here.context.newPage();
    });
    beforeEach(async () => {
      run = await makeRun(here.porthole, undefined, { title: 'Previews' });
      // After a test that closed it.
      if (page.isClosed()) page = await here.context.newPage();
    });
    afterEach(async () => {
      if (!page.isClosed()) await page.unrouteAll();
    });
    afterAll(() => page?.close());
    const go = (query = '') => page.goto(`${here.porthole.host.url}/runs/${run.runId}${query}`);

    // The first of them: one user has at most ten previews, and a request for more is refused.
    test('let a person who was in the frame decide with one press', async () => {
      await serve(3109);
      await open(3109);
      await go();
      await page.frameLocator('iframe').getByRole('heading', { name: 'Port 3109' }).click();
      const asking = askForPreview(here.porthole, run.runId, run.agentToken, { target_port: 3110 });
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
      // One state and one share, those of the preview: a single user has no organisation.
      expect(await page.locator('.page-head .state').count()).toBe(0);
      expect(await page.getByRole('button', { name: /Share/ }).count()).toBe(1);
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
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Preview');
    });

    test('are offered the moment that a server listens, and no longer once it is gone', async () => {
      const servers = `/v1/sandbox/${run.sandboxId}/servers`;
      await go('?drawer=timeline');
      const offer = page.getByRole('button', { name: 'Start a preview of port 3102' });
      const argv = ['node', '-e', "require('http').createServer((q, r) => r.end('hi')).listen(3102)"];
      await here.porthole.call('PUT', `${servers}/web`, { body: { argv, port: 3102 } });
      await offer.waitFor();
      await page.getByText('Port listens').waitFor();
      // The next scheduled poll is a minute away.
      await here.porthole.call('DELETE', `${servers}/web`);
      await offer.waitFor({ state: 'detached' });
      await page.getByText('Port closed').waitFor();
      const command = 'echo no such module; exit 1';
      await here.porthole.call('PUT', `${servers}/broken`, {
        body: { command, port: 3103, restart: 'never' },
      });
      await page.getByRole('textbox', { name: 'Another port' }).fill('3103');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByText('Server broken failed. It printed last:').waitFor();
      await page.getByText('no such module', { exact: true }).waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('open paths, go back and forward over them, and refuse other origins', async () => {
      const script = `require('http').createServer((q, r) => r.setHeader('content-type', 'text/html').end('<h1>At ' + q.url + '</h1>')).listen(3111, () => console.log('shop is open'))`;
      await here.porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/shop`, {
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
      await page.getByRole('button', { name: 'Logs', exact: true }).click();
      await page.getByRole('log').getByText('shop is open').waitFor();
      expect(await violations(page)).toEqual([]);
      // The browser's own history still leaves the page with one step.
      await page.goBack();
      expect(page.url()).not.toContain(run.runId);
    });

    test('say that their sandbox is stopped, and resume it', async () => {
      await serve(3101);
      await open(3101);
      await here.porthole.call('POST', `/v1/sandbox/${run.sandboxId}/stop`);
      await go();
      await preview(3101).getByText('The sandbox is stopped.').waitFor();
      await preview(3101).getByRole('button', { name: 'Resume the sandbox' }).click();
      await preview(3101).getByText('Nothing listens').waitFor();
    });

    test('are as many as a run may have, and the next one is refused in words', async () => {
      for (const port of [3102, 3103, 3104]) await open(port);
      await go();
      await page.getByRole('tab', { name: ':3104' }).waitFor();
      const visible = page.locator('.preview:visible');
      expect(await visible.count()).toBe(1);
      await page.getByRole('tab', { name: 'New preview' }).click();
      await page.getByRole('textbox', { name: 'Another port' }).fill('3105');
      expect(await visible.count()).toBe(0);
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
      const { preview_url: local } = (await open(3108)).json<{ preview_url: string }>();
      const url = local.replace('.localhost', '.example.com');
      // Only a link that another device can open has a QR code.
      await page.route('**/port-forward', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: (await response.text()).replaceAll(local, url) });
      });
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

    test('are frames of the preview zone, and nothing else is', async () => {
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
}
