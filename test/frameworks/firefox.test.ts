/**
 * Frameworks at the level `owner` in Firefox, which accepts no cookies of third parties: the page
 * through its entrance, a form, a live change and its WebSocket.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Frame, KeyInput, Page } from 'puppeteer-core';
import { firefoxMissing, launchFirefox } from '#test/support/firefox.ts';
import { suite } from '#test/support/suite.ts';
import { packagesMissing } from './framework-cache.ts';
import { type FrameworkHarness, openLocalHarness, serveProject } from './framework-harness.ts';
import { selectFrameworks, type Step } from './framework-table.ts';

const STEP_MS = 90_000;
const TEST_MS = 300_000;
/** How long a reloaded page may take to show an edit. */
const RELOAD_MS = 3_000;
/** Blocks cookies of third parties, also partitioned storage of unvisited sites. */
const BLOCK_THIRD_PARTIES = { 'network.cookie.cookieBehavior': 1 };

let harness: FrameworkHarness;
let browser: Browser;
beforeAll(async () => {
  process.env['PORTHOLE_FRAMEWORKS_ACCESS'] ??= 'owner';
  [harness, browser] = await Promise.all([openLocalHarness(), launchFirefox(BLOCK_THIRD_PARTIES)]);
}, TEST_MS);
afterAll(async () => {
  await browser?.close();
  await harness?.end();
});

const names = (process.env['PORTHOLE_FRAMEWORKS'] ?? 'vite,django').split(',').filter(Boolean);
for (const framework of selectFrameworks(names)) {
  const { name, path = '/', frame, form, live, socket } = framework;
  suite(`${name} in Firefox`, firefoxMissing ?? packagesMissing(framework), () => {
    test(
      'works for its owner, and refuses a stranger',
      async () => {
        const project = await serveProject(harness, framework);
        const page = await browser.newPage();
        page.setDefaultTimeout(STEP_MS);
        await page.evaluateOnNewDocument(noteSockets);
        const take = (steps: readonly Step[], within = STEP_MS) =>
          takeSteps(page, frame, steps, within).catch(async (error: unknown) => {
            const shown = await page.evaluate('document.body.innerText.slice(0, 600)').catch(String);
            throw new Error(`${String(error)} at ${page.url()}: ${String(shown)}\n${await project.log()}`, {
              cause: error,
            });
          });
        const visit = (at: string) =>
          page.goto(new URL(at, project.url).href, { waitUntil: 'domcontentloaded' });
        try {
          const { host } = new URL(project.url);
          const stranger = await harness.porthole.call('GET', '/', { host });
          expect([stranger.status, stranger.headers['x-porthole-status']]).toEqual([401, 'access_required']);
          await visit(path);
          await take(framework.page);
          if (form.at !== undefined) await visit(form.at);
          await take(form.steps);
          if (live.stays !== true) await visit(path);
          await take(live.before ?? framework.page);
          if (live.how !== 'manual reload' && socket instanceof RegExp) {
            await page.waitForFunction('globalThis.answeredSockets.length > 0');
          }
          if (live.edit !== undefined) {
            const { file, from, to } = live.edit;
            await project.write(file, (await project.read(file)).replace(from, to));
          }
          if (live.how === 'manual reload') await reloadUntil(page, () => take(live.steps, RELOAD_MS));
          else await take(live.steps);
        } finally {
          await page.close();
          await project.close();
        }
      },
      TEST_MS,
    );
  });
}

/** Keeps the paths of WebSockets that received a message: BiDi has no event for them. */
function noteSockets(): void {
  const answered: string[] = [];
  Object.assign(globalThis, {
    answeredSockets: answered,
    WebSocket: class extends WebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols);
        this.addEventListener('message', () => answered.push(new URL(this.url).pathname), { once: true });
      }
    },
  });
}

async function takeSteps(
  page: Page,
  frame: string | undefined,
  steps: readonly Step[],
  within: number,
): Promise<void> {
  for (const [kind, selector, value = '', content = ''] of steps) {
    const inside = frame === undefined ? page.mainFrame() : await frameOf(page, frame);
    const css = PLAYWRIGHT_ONLY[selector] ?? selector;
    if (kind === 'see') await seeText(inside, css, value, within);
    else if (kind === 'fill') await inside.locator(css).setTimeout(within).fill(value);
    else if (kind === 'click') await inside.locator(css).setTimeout(within).click();
    else if (kind === 'press') {
      const keys = value.split('+') as KeyInput[];
      await inside.focus(css);
      for (const key of keys) await page.keyboard.down(key);
      for (const key of keys.toReversed()) await page.keyboard.up(key);
    } else {
      const file = join(harness.porthole.dataDir, value);
      await writeFile(file, content);
      const input = await inside.waitForSelector(css, { timeout: within });
      await input?.uploadFile(file);
    }
  }
}

/** The table's selectors that are not CSS. */
const PLAYWRIGHT_ONLY: Readonly<Record<string, string>> = {
  'text=Greet >> nth=-1': "::-p-xpath((//*[normalize-space(text())='Greet'])[last()])",
  'button:has-text("Greet")': "::-p-xpath(//button[contains(., 'Greet')])",
  'label:has-text("Name") >> textarea, input':
    "::-p-xpath(//label[contains(., 'Name')]//*[self::textarea or self::input])",
  '.explorer-folders-view >> text=notes.txt': '.explorer-folders-view ::-p-text(notes.txt)',
};

async function frameOf(page: Page, selector: string): Promise<Frame> {
  const element = await page.waitForSelector(selector);
  const frame = await element?.contentFrame();
  if (!frame) throw new Error(`${selector} is no frame`);
  return frame;
}

async function seeText(frame: Frame, selector: string, text: string, timeout: number): Promise<void> {
  const found = `[...document.querySelectorAll(${JSON.stringify(selector)})]`;
  const isShown = `({ textContent }) => textContent.replaceAll(/\\s+/g, ' ').includes(${JSON.stringify(text)})`;
  await frame.waitForFunction(`${found}.some(${isShown})`, { timeout });
}

/** While a server restarts, the page is still the old one or Porthole's. */
async function reloadUntil(page: Page, isShown: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + STEP_MS;
  for (;;) {
    await page.reload({ waitUntil: 'domcontentloaded' });
    try {
      return await isShown();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}
