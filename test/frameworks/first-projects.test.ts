/** `porthole up` of projects as their generators make them: a page, an edit, and Ctrl-C. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { porthole, startPorthole } from '#test/client/support/porthole-command.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { Porthole } from '../../client/node/index.ts';
import { EDITED, FIRST_PROJECTS, type FirstProject, firstProject } from './first-projects.ts';

/** All, or those with one of these words in their names; the core without any. */
const names = (process.env['PORTHOLE_FRAMEWORKS'] ?? '').split(',').filter(Boolean);
const isWanted = ({ name, core }: FirstProject): boolean =>
  names.length === 0
    ? core === true
    : names.includes('all') || names.some((each) => name.toLowerCase().includes(each));

/** Installs, compilers and browsers on a busy machine. */
const LIVE_MS = 900_000;
const SHOWN_MS = 120_000;
/** Without the edit for this long, in milliseconds, the page is loaded again, as by a person. */
const RELOAD_MS = 3_000;

describe('porthole up of a first project', () => {
  let host: TestHost;
  let browser: Browser;
  let root: string;
  let environment: Record<string, string>;
  let client: Porthole;

  beforeAll(async () => {
    [host, browser] = await Promise.all([startTestHost(), launchChromium()]);
    root = await mkdtemp(join(tmpdir(), 'porthole-first-'));
    environment = {
      PORTHOLE_URL: `http://127.0.0.1:${host.host.port}`,
      XDG_CACHE_HOME: join(root, 'cache'),
    };
    client = new Porthole({ url: environment['PORTHOLE_URL'] });
  }, LIVE_MS);
  afterAll(async () => {
    await browser?.close();
    await host?.end();
    await rm(root, { recursive: true, force: true });
  });

  /** Errors of a page, other than the icon that every browser requests. */
  const errorsOf = (page: Page): readonly string[] => {
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
        errors.push(`${message.text()} (${message.location().url})`);
    });
    return errors;
  };

  const untilShown = async (page: Page, text: string): Promise<void> => {
    const until = performance.now() + SHOWN_MS;
    for (;;) {
      try {
        await page.getByText(text).first().waitFor({ timeout: RELOAD_MS });
        return;
      } catch (error) {
        if (performance.now() > until) {
          throw new Error(`${text} is not on the page: ${await page.content()}`, { cause: error });
        }
      }
      // A server that restarts may not answer.
      await page.reload().catch(() => undefined);
    }
  };

  const edit = async (folder: string, { edit: { file, from, to } }: FirstProject): Promise<void> => {
    const path = join(folder, file);
    const text = await readFile(path, 'utf8');
    expect(text).toContain(from);
    // As many editors save.
    await writeFile(`${path}~`, text.replace(from, to));
    await rename(`${path}~`, path);
  };

  for (const [at, project] of FIRST_PROJECTS.filter(isWanted).entries()) {
    const { name, needs } = project;
    const lacks = needs === undefined || existsSync(needs) ? chromiumMissing : `${needs} is missing`;
    suite(name, lacks, () => {
      test(
        'shows its page without errors, then an edit, and leaves nothing after Ctrl-C',
        async () => {
          const folder = join(root, `app-${at}`);
          await firstProject(project, folder);
          const began = performance.now();
          const running = startPorthole(['up', folder], environment);
          const url = (await running.until('\n')).trim();
          const seconds = ((performance.now() - began) / 1_000).toFixed(0);
          const page = await browser.newPage();
          try {
            const errors = errorsOf(page);
            await page.goto(url, { timeout: SHOWN_MS });
            await untilShown(page, project.shows);
            expect(errors.filter((error) => project.noise?.test(error) !== true)).toEqual([]);
            await edit(folder, project);
            await untilShown(page, EDITED);
          } finally {
            await page.close();
            running.child.kill('SIGINT');
          }
          const { code, stderr } = await running.outcome;
          expect([code, stderr]).toEqual([0, expect.stringContaining('Stopped.')]);
          for await (const { info } of client.sandboxes.list({ state: 'running' }))
            expect(info).toBeUndefined();
          await porthole(['delete', folder], environment);
          await rm(folder, { recursive: true });
          process.stdout.write(`up: ${name.padEnd(34)} ${seconds.padStart(4)} s\n`);
        },
        LIVE_MS,
      );
    });
  }

  test(
    'says what to do with a Dockerfile, and with an empty folder',
    async () => {
      const folder = join(root, 'image');
      await mkdir(folder);
      const empty = await porthole(['up', folder], environment);
      expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('Give it one: porthole up')]);
      await writeFile(join(folder, 'Dockerfile'), 'FROM node:24\nCMD ["node", "server.js"]\n');
      const image = await porthole(['up', folder], environment);
      expect([image.code, image.stderr]).toEqual([
        2,
        expect.stringContaining(`porthole up ${folder} --install -- 'node server.js'`),
      ]);
    },
    LIVE_MS,
  );
});
