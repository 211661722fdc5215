import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { chromiumMissing } from '#test/support/chromium.ts';
import { type Missing, suite } from '#test/support/suite.ts';
import { packagesMissing } from './framework-cache.ts';
import type { Fault } from './framework-faults.ts';
import {
  type FrameworkHarness,
  type PageCheck,
  type ServedProject,
  serveProject,
} from './framework-harness.ts';
import type { Framework, Step } from './framework-table.ts';

/** Timeout for a first compilation on a busy machine. */
const STEP_MS = 90_000;
const TEST_MS = 300_000;
/** How long a reloaded page may take to show an edit. */
const RELOAD_MS = 1_000;

/** A page's network and console activity. */
interface Traffic {
  /** Number of documents loaded by its main frame. */
  documents: number;
  /** Paths with status 200. */
  readonly loaded: Set<string>;
  /** Status of each request with a body. */
  readonly posted: { readonly path: string; readonly status: number }[];
  /**
   * Paths of the WebSockets that have received a message; each is announced by a `socket` event.
   */
  readonly sockets: string[];
  readonly opened: EventEmitter;
  readonly problems: string[];
}

/**
 * Records activity of the preview's origin. Other hosts are unreachable here, which is no fault of
 * a preview.
 */
function watch(page: Page, origin: string): Traffic {
  const opened = new EventEmitter();
  const traffic: Traffic = { documents: 0, loaded: new Set(), posted: [], sockets: [], opened, problems: [] };
  const host = new URL(origin).host;
  const isOwn = (url: string) => url === '' || !URL.canParse(url) || new URL(url).host === host;
  page.on('domcontentloaded', () => (traffic.documents += 1));
  page.on('response', (response) => {
    if (!isOwn(response.url())) return;
    const path = new URL(response.url()).pathname;
    const status = response.status();
    if (status === 200) traffic.loaded.add(path);
    if (['POST', 'PUT'].includes(response.request().method())) traffic.posted.push({ path, status });
  });
  page.on('websocket', (socket) => {
    if (!isOwn(socket.url())) return;
    socket.once('framereceived', () => {
      traffic.sockets.push(new URL(socket.url()).pathname);
      opened.emit('socket');
    });
  });
  page.on('console', (message) => {
    const { url } = message.location();
    const isLoad = message.text().startsWith('Failed to load resource');
    // An app may lack the icon that every browser requests.
    if (message.type() !== 'error' || (isLoad && (!isOwn(url) || url.endsWith('/favicon.ico')))) return;
    traffic.problems.push(`${message.text()} (${url})`);
  });
  page.on('pageerror', (error) => traffic.problems.push(error.message));
  return traffic;
}

/**
 * The same checks for each framework, in the order in which a user meets them; with `faults` also
 * what Porthole says of its page, healthy and with each of them.
 */
export function frameworkSuite(
  framework: Framework,
  harness: () => FrameworkHarness,
  { lacks, faults }: { readonly lacks?: Missing; readonly faults?: readonly Fault[] } = {},
): void {
  const { name, path = '/', frame, asset, form, socket, live, noise } = framework;

  suite(name, lacks ?? chromiumMissing ?? packagesMissing(framework), () => {
    let project: ServedProject;
    let context: BrowserContext;
    let page: Page;
    let traffic: Traffic;

    beforeAll(async () => {
      project = await serveProject(harness(), framework);
      context = await harness().browser.newContext();
      page = await context.newPage();
      page.setDefaultTimeout(STEP_MS);
      traffic = watch(page, project.url);
    }, TEST_MS);
    afterAll(async () => {
      await context?.close();
      await project?.close();
    }, TEST_MS);

    /** @throws Error with the output of the page, the console and the server */
    const explained = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        const shown = await page.locator('body').innerText({ timeout: 1_000 }).catch(String);
        throw new Error(
          [
            (error as Error).message,
            `The page is ${page.url()} and shows: ${shown.slice(0, 600)}`,
            `Its console: ${traffic.problems.join('\n')}`,
            `The server: ${(await project.log()).slice(-2_000)}`,
          ].join('\n\n'),
          { cause: error },
        );
      }
    };

    const take = async ([kind, selector, value, content]: Step): Promise<void> => {
      const found = (frame === undefined ? page : page.frameLocator(frame)).locator(selector);
      if (kind === 'see') await found.filter({ hasText: value }).first().waitFor();
      else if (kind === 'fill') await found.first().fill(value);
      else if (kind === 'press') await found.first().press(value);
      else if (kind === 'click') await found.first().click();
      else {
        const file = { name: value, mimeType: 'text/plain', buffer: Buffer.from(content) };
        await found.first().setInputFiles(file);
      }
    };
    const takeAll = async (steps: readonly Step[]): Promise<void> => {
      for (const step of steps) await take(step);
    };
    const visit = (at = path) => page.goto(new URL(at, project.url).href);

    const edit = async (): Promise<void> => {
      if (live.edit === undefined) return;
      const { file, from, to } = live.edit;
      await project.write(file, (await project.read(file)).replace(from, to));
    };

    test('serves its page', () => explained(visit().then(() => takeAll(framework.page))), TEST_MS);

    test('serves its scripts and styles', async () => {
      await page.waitForLoadState();
      expect([...traffic.loaded].filter((loaded) => asset.test(loaded))).not.toEqual([]);
    });

    test(
      'takes a form post',
      async () => {
        if (form.at !== undefined) await visit(form.at);
        await explained(takeAll(form.steps));
        expect(traffic.posted.filter(({ status }) => status < 400)).not.toEqual([]);
        expect(traffic.posted.filter(({ status }) => status >= 400)).toEqual([]);
      },
      TEST_MS,
    );

    test(
      `shows a change (${live.how})`,
      async () => {
        const socketsBefore = live.stays === true ? 0 : traffic.sockets.length;
        if (live.stays !== true) await visit();
        await explained(takeAll(live.before ?? framework.page));
        if (live.how !== 'manual reload' && socket instanceof RegExp && live.edit !== undefined) {
          // An edit before the page has its WebSocket would not be shown.
          const opened = () => traffic.sockets.slice(socketsBefore).some((opened) => socket.test(opened));
          const signal = AbortSignal.timeout(STEP_MS);
          while (!opened()) await explained(once(traffic.opened, 'socket', { signal }));
        }
        const { documents } = traffic;
        await edit();
        if (live.how === 'manual reload') await explained(reloadUntilShown());
        else await explained(takeAll(live.steps));
        if (live.how === 'same document') expect(traffic.documents).toBe(documents);
      },
      TEST_MS,
    );

    if (socket instanceof RegExp) {
      test('opens its WebSocket', () => {
        expect(traffic.sockets.filter((opened) => socket.test(opened))).not.toEqual([]);
      });
    }

    test('leaves the console without an error', () => {
      expect(traffic.problems.filter((problem) => noise === undefined || !noise.test(problem))).toEqual([]);
    });

    if (faults !== undefined) {
      test('says that its page works', async () => {
        expect((await project.check(path)).summary).toBe('works');
      });
    }

    for (const { name: fault, edits, kind, says, at } of faults ?? []) {
      test(
        `names ${fault}, and says that the page works without it`,
        async () => {
          const before = new Map<string, string>();
          for (const edit of edits) {
            const text = await project.read(edit.file).catch(() => '');
            if (!before.has(edit.file)) before.set(edit.file, text);
            if ('from' in edit) expect(text).toContain(edit.from);
            await project.write(
              edit.file,
              'text' in edit ? edit.text : text.replace(edit.from, () => edit.to),
            );
          }
          let found: PageCheck;
          try {
            // While a dev server builds or restarts, the page is broken for other reasons.
            found = await checkUntil(
              ({ result, causes: [first] }) => result === 'broken' && first?.kind === kind,
            );
          } finally {
            for (const [file, text] of before) if (text !== '') await project.write(file, text);
          }
          const [first] = found.causes;
          // Some paths begin at the workspace, others at the project.
          const place = `${first?.file}:${first?.line}`;
          const isThere = at === undefined || `/${place}`.endsWith(`/${at}`);
          expect([found.result, first?.kind, first?.message, isThere ? at : place]).toEqual([
            'broken',
            kind,
            expect.stringMatching(says),
            at,
          ]);
          expect((await checkUntil(({ result }) => result === 'works')).summary).toBe('works');
        },
        TEST_MS,
      );
    }

    /** Dev servers notice a change after a while, and some restart: nothing listens meanwhile. */
    async function checkUntil(isSeen: (found: PageCheck) => boolean): Promise<PageCheck> {
      const deadline = performance.now() + STEP_MS;
      for (;;) {
        const found = await project.check(path);
        const isRestarting = found.causes[0]?.kind === 'gateway';
        if ((isSeen(found) && !isRestarting) || performance.now() > deadline) return found;
      }
    }

    /** While a server restarts, the page is still the old one or Porthole's. */
    async function reloadUntilShown(): Promise<void> {
      const deadline = performance.now() + STEP_MS;
      page.setDefaultTimeout(RELOAD_MS);
      for (;;) {
        await page.reload({ timeout: STEP_MS });
        try {
          await takeAll(live.steps);
          break;
        } catch (error) {
          if (performance.now() > deadline) throw error;
        }
      }
      page.setDefaultTimeout(STEP_MS);
    }
  });
}
