import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { askForPreview } from '#test/host/support/approvals.ts';
import { editorOf } from '#test/host/support/editor.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { newUsers } from './console-shell/new-users.ts';
import { type Place, placesOf } from './console-shell/places.ts';
import { LOOKS, violations, watch, type Watched } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

const KEY = 'a-key-of-alice-0123';
const MINUTE = 60_000;

suite('the console as a whole, in a real browser', chromiumMissing, () => {
  const here = consoleSuite();
  let secured: TestHost;
  let fresh: TestHost;
  let runId: string;
  let sandboxId: string;
  let toolId: string;

  beforeAll(async () => {
    secured = await startTestHost({
      PORTHOLE_API_KEYS: JSON.stringify({ [KEY]: { user: 'alice', org: 'acme' } }),
    });
    fresh = await startTestHost();
    const key = { name: 'Nightly build', scope: 'read' };
    await here.porthole.call('POST', '/api/keys', { body: key });
    const run = await makeRun(here.porthole, undefined, { title: 'Rebuild the pricing page' });
    [runId, sandboxId] = [run.runId, run.sandboxId];
    const code = 'def run(i, c): return {}';
    toolId = (await editorOf(here.porthole).makeTool(code, { name: 'Price check', entrypoint: 'run' }))
      .tool_id;
    // Waits for a decision on every page; the suite ends earlier.
    void askForPreview(here.porthole, runId, run.agentToken).catch(() => undefined);
  });
  afterAll(() => Promise.all([secured?.end(), fresh?.end()]));

  async function open(look: Parameters<Browser['newContext']>[0] = {}): Promise<[BrowserContext, Page]> {
    const context = await here.browser.newContext(look);
    return [context, await context.newPage()];
  }

  const PLACES = placesOf(() => ({ secured, fresh, runId, sandboxId, toolId }));

  /** Once animations have ended: entering elements do not have their final colours. */
  const settled = (page: Page) =>
    page.evaluate('Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => 0)))');

  async function visit(
    page: Page,
    { path, at = () => here.porthole, before, press, whole }: Place,
  ): Promise<void> {
    await before?.(page);
    await page.goto(at().host.url + path());
    await press?.(page);
    await whole(page);
    await settled(page);
  }

  describe('in one page', () => {
    let context: BrowserContext;
    let page: Page;
    let watched: Watched;
    const visited = new Set<string>();
    beforeAll(async () => {
      [context, page] = await open(LOOKS.light);
      watched = watch(page);
    });
    afterEach(async () => {
      await page.unrouteAll();
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: null, forcedColors: null });
      await page.setViewportSize(LOOKS.light.viewport);
    });
    afterAll(() => context?.close());

    // One visit for all looks: an open page follows its window and the user's colour scheme.
    test.each(Object.keys(PLACES))(
      '%s is accessible and no wider than its window in any look, and sends requests to its own origin only',
      async (name) => {
        const place = PLACES[name] as Place;
        await visit(page, place);
        for (const [look, { colorScheme, viewport }] of Object.entries(LOOKS)) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize(viewport);
          await page.evaluate(
            'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
          );
          await place.whole(page);
          await settled(page);
          expect([look, await violations(page)]).toEqual([look, []]);
          const [wide, window] = (await page.evaluate(
            '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
          )) as [number, number];
          expect([look, wide <= window]).toEqual([look, true]);
        }
        visited.add((place.at ?? (() => here.porthole))().host.url);
        expect(watched.origins).toEqual(visited);
      },
      MINUTE,
    );

    test('moves nothing for people who prefer reduced motion', async () => {
      await page.emulateMedia({ reducedMotion: 'reduce' });
      await visit(page, PLACES['runs'] as Place);
      await page.getByRole('button', { name: 'Approve once' }).waitFor();
      expect(await page.evaluate('document.getAnimations().length')).toBe(0);
    });

    test('marks the current page in forced colours too', async () => {
      await page.emulateMedia({ forcedColors: 'active' });
      await visit(page, PLACES['runs'] as Place);
      const outline = (href: string) =>
        page.evaluate(`getComputedStyle(document.querySelector('nav a[href="${href}"]')).outlineStyle`);
      expect(await outline('/')).toBe('solid');
      expect(await outline('/tools')).toBe('none');
    });

    test('offers ways on from a page that broke, and the rest works', async () => {
      await visit(page, PLACES['a page that broke'] as Place);
      await page.getByRole('link', { name: 'Sandboxes' }).click();
      await page.getByRole('heading', { level: 1, name: 'Sandboxes' }).waitFor();
      await page.unrouteAll();
      await page.getByRole('link', { name: 'Runs' }).click();
      await page.getByRole('link', { name: 'Rebuild the pricing page' }).first().waitFor();
    });

    test('shows its own 404 page at an address that nothing serves', async () => {
      const answer = await page.goto(`http://127.0.0.1:${here.porthole.host.port}/no/such/page`);
      expect(answer?.status()).toBe(404);
      await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
      await page.getByRole('link', { name: 'Go to the runs' }).click();
      await page.getByRole('link', { name: 'Rebuild the pricing page' }).first().waitFor();
    });
  });

  test('cuts nothing off to the side at 200 % in a small window', async () => {
    // The size of a window of 1280 by 800 at 200 %.
    const [context, page] = await open({ viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 });
    for (const name of ['runs', 'a run', 'sandboxes', 'a new sandbox', 'a tool']) {
      const { press, ...place } = PLACES[name] as Place;
      await visit(page, {
        ...place,
        press: async () => {
          // The card of a request takes most of so small a window until it is hidden.
          await page.getByRole('button', { name: 'Hide', exact: true }).click();
          await press?.(page);
        },
      });
      expect([name, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, 640]);
    }
    await context.close();
  });

  test('takes less than 200 KB of script over the line for its first page', async () => {
    const [context, page] = await open();
    const line = await context.newCDPSession(page);
    await line.send('Network.enable');
    const scripts = new Set<string>();
    let bytes = 0;
    line.on('Network.responseReceived', ({ requestId, type }) => {
      if (type === 'Script') scripts.add(requestId);
    });
    line.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (scripts.has(requestId)) bytes += encodedDataLength;
    });
    await visit(page, PLACES['runs'] as Place);
    expect(scripts.size).toBeGreaterThan(0);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(200_000);
    await context.close();
  });

  describe('with a keyboard', () => {
    let context: BrowserContext;
    let page: Page;
    beforeAll(async () => {
      [context, page] = await open();
      await visit(page, PLACES['runs'] as Place);
    });
    afterAll(() => context.close());

    const focused = () => page.evaluate('document.activeElement.textContent');

    test('skips to the page from the first stop', async () => {
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Skip to the page');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement.id')).toBe('page');
      await page.keyboard.press('Tab');
      expect(await page.evaluate("document.activeElement.closest('main') !== null")).toBe(true);
    });

    test('starts another page at its heading, with its own title', async () => {
      for (const [link, name] of [
        ['Sandboxes', 'Sandboxes'],
        ['Tools', 'Tools'],
        ['Price check', 'Price check'],
        ['Runs', 'Runs'],
        ['Rebuild the pricing page', 'Rebuild the pricing page'],
      ] as const) {
        await page.getByRole('link', { name: link }).first().press('Enter');
        await page.locator('h1:focus', { hasText: name }).waitFor();
        await page.evaluate(`new Promise((done) => {
          const look = () => (document.title === ${JSON.stringify(`(1) ${name} · Porthole`)} ? done() : requestAnimationFrame(look));
          look();
        })`);
      }
      await page.goBack();
      await page.locator('h1:focus', { hasText: 'Runs' }).waitFor();
    });

    test('shows what is focused, at each stop of a page', async () => {
      await visit(page, PLACES['sandboxes'] as Place);
      const unseen: string[] = [];
      for (let stop = 0; stop < 14; stop++) {
        await page.keyboard.press('Tab');
        const bare = (await page.evaluate(`(() => {
          const it = document.activeElement;
          const { outlineStyle, outlineWidth } = getComputedStyle(it);
          return it === document.body || (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) ? '' : it.outerHTML.slice(0, 100);
        })()`)) as string;
        if (bare !== '') unseen.push(bare);
      }
      expect(unseen).toEqual([]);
    });

    test('keeps the focus in a dialog, and gives it back to what opened the dialog', async () => {
      await visit(page, PLACES['sandboxes'] as Place);
      await page.getByRole('button', { name: 'New sandbox' }).press('Enter');
      await page.getByRole('dialog', { name: 'New sandbox' }).waitFor();
      for (let stop = 0; stop < 30; stop++) await page.keyboard.press('Tab');
      expect(await page.evaluate("document.activeElement.closest('[role=dialog]') !== null")).toBe(true);
      await page.keyboard.press('Escape');
      await page.locator('button:focus', { hasText: 'New sandbox' }).waitFor();
    });
  });

  newUsers(() => here.browser);

  test('loads the page of the new build when a part of the old build is gone', async () => {
    const [context, page] = await open();
    await visit(page, PLACES['runs'] as Place);
    let asked = 0;
    // Missing once, as until the page is that of the new build.
    await page.route('**/assets/tools-page-*.js', (route) => {
      asked += 1;
      return asked === 1 ? route.fulfill({ status: 404, json: {} }) : route.continue();
    });
    await page.getByRole('link', { name: 'Tools' }).click();
    await page.getByRole('link', { name: 'Price check' }).waitFor();
    expect(asked).toBe(2);
    await context.close();
  });

  test('reports a part that stays missing, and does not reload the page forever', async () => {
    const [context, page] = await open();
    await visit(page, PLACES['runs'] as Place);
    let asked = 0;
    await page.route('**/assets/tools-page-*.js', (route) => {
      asked += 1;
      return route.fulfill({ status: 404, json: {} });
    });
    await page.getByRole('link', { name: 'Tools' }).click();
    await page.getByRole('heading', { level: 1, name: 'This page broke' }).waitFor();
    expect(asked).toBe(2);
    await context.close();
  });

  test('shows another build on the server from the next page on', async () => {
    const [context, page] = await open();
    await visit(page, PLACES['runs'] as Place);
    await page.evaluate('window.isOld = true');
    await page.route(`${here.porthole.host.url}/`, (route) =>
      route.request().resourceType() === 'fetch'
        ? route.fulfill({ headers: { etag: '"another"' }, body: '' })
        : route.continue(),
    );
    const looked = page.waitForResponse(`${here.porthole.host.url}/`);
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await looked;
    await page.getByRole('link', { name: 'Tools' }).click();
    await page.getByRole('link', { name: 'Price check' }).waitFor();
    expect(await page.evaluate('window.isOld')).toBeUndefined();
    await context.close();
  });
});
