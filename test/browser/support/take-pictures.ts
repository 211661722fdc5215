/**
 * `node test/browser/support/take-pictures.ts [page…]`: takes the screenshots of `docs/console`,
 * all or those of the named pages, in light, in dark and on a phone.
 */
import { mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE } from '#test/host/support/people.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { ensureConsoleBuilt } from './console-fixture.ts';
import { makeScene, type Scene } from './picture-scene.ts';

const FOLDER = join(import.meta.dirname, '../../../docs/console');

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 720 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
};

/** The host of a page: one with much activity, one without any, or one that requires a key. */
type Where = 'used' | 'new' | 'secured';

interface Picture {
  readonly where?: Where;
  readonly path: string;
  /** Produces the state to show, and waits until it is visible. */
  readonly show: (page: Page) => Promise<unknown>;
}

const heading = (name: string) => (page: Page) => page.getByRole('heading', { level: 1, name }).waitFor();

function pictures({ shown, asking, toolId }: Scene): Readonly<Record<string, Picture>> {
  return {
    first: {
      where: 'new',
      path: '/',
      show: (page) => page.getByRole('button', { name: 'Try it' }).waitFor(),
    },
    'first-project': {
      where: 'new',
      path: '/',
      async show(page) {
        await page.getByRole('button', { name: 'Show the command' }).click();
        await page.getByText('Waiting for your project…').waitFor();
      },
    },
    'sign-in': { where: 'secured', path: '/', show: (page) => page.getByLabel('API key').waitFor() },
    runs: { path: '/', show: (page) => page.getByRole('link', { name: 'Weekly report' }).waitFor() },
    run: {
      path: `/runs/${shown.runId}`,
      show: (page) => page.frameLocator('iframe').getByText('Prices that grow').waitFor(),
    },
    'run-panel': {
      path: `/runs/${shown.runId}?pane=terminal&drawer=timeline`,
      async show(page) {
        await page.getByText('Run started').first().waitFor({ state: 'attached' });
        if ((page.viewportSize()?.width ?? 0) > 680) await page.getByText('Connected').waitFor();
      },
    },
    'run-logs': {
      path: `/runs/${shown.runId}?pane=logs`,
      show: (page) => page.getByText('node server.js').first().waitFor(),
    },
    sandboxes: {
      path: '/sandboxes',
      show: (page) => page.getByRole('link', { name: 'nightly-build' }).waitFor(),
    },
    'new-sandbox': {
      path: '/sandboxes',
      async show(page) {
        await page.getByRole('button', { name: 'New sandbox' }).click();
        await page.getByRole('dialog').waitFor();
      },
    },
    terminal: {
      path: `/sandboxes/${shown.sandboxId}`,
      async show(page) {
        await page.getByText('Connected').waitFor();
        await page.locator('.screen').first().click();
        await page.keyboard.type('clear; ls --color; git log --oneline; git diff --stat\n');
        await page.locator('.xterm-rows').getByText('1 file changed').waitFor();
      },
    },
    files: {
      path: `/sandboxes/${shown.sandboxId}?pane=files`,
      async show(page) {
        await page.getByRole('button', { name: 'README.md' }).waitFor();
        // A phone shows one pane at a time.
        if ((page.viewportSize()?.width ?? 0) > 680) await page.getByText('Connected').waitFor();
      },
    },
    file: {
      path: `/sandboxes/${shown.sandboxId}?pane=files`,
      async show(page) {
        await page.getByText('server.js', { exact: true }).click();
        await page.getByRole('textbox', { name: /^Text of/ }).waitFor();
      },
    },
    tools: { path: '/tools', show: heading('Tools') },
    tool: {
      path: `/tools/${toolId}`,
      async show(page) {
        await page.getByText('You edit it').waitFor();
        await page.getByRole('button', { name: /^Run/ }).first().click();
        await page.getByRole('article', { name: 'What the run gave' }).getByText('dearer').first().waitFor();
      },
    },
    docs: { path: '/docs', show: heading('Documentation') },
    document: { path: '/docs/preview-access', show: (page) => page.locator('.docs h1').waitFor() },
    settings: { path: '/settings', show: heading('Settings') },
    keys: { path: '/settings/keys', show: (page) => page.getByText('Nightly build').waitFor() },
    'no-keys': {
      where: 'new',
      path: '/settings/keys',
      show: (page) => page.getByText('No keys yet').waitFor(),
    },
    'new-key': {
      path: '/settings/keys',
      async show(page) {
        await page.getByRole('button', { name: 'New key' }).click();
        await page.getByRole('dialog').waitFor();
      },
    },
    people: {
      where: 'secured',
      path: '/settings/people',
      async show(page) {
        await page.getByLabel('API key').fill(ADA_ADMIN);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.getByText('previews blocked').waitFor();
      },
    },
    usage: { path: '/settings/usage', show: (page) => page.getByText('Your usage').waitFor() },
    audit: { path: '/settings/audit', show: (page) => page.getByText('run.created').first().waitFor() },
    about: { path: '/settings/about', show: (page) => page.getByText('Installation').waitFor() },
    // Last: it is in front of every page.
    approval: {
      path: `/runs/${asking.runId}`,
      show: (page) => page.getByText('“Recipes”').waitFor(),
    },
  };
}

async function takeAll(browser: Browser, wanted: readonly string[]): Promise<void> {
  const quotas = JSON.stringify({ default: { sandboxes: 12, cpu: 16, memory_mb: 16_384 } });
  const [used, fresh, secured] = await Promise.all([
    startTestHost({ PORTHOLE_QUOTAS: quotas }),
    startTestHost(),
    startTestHost(PEOPLE),
  ]);
  try {
    const scene = await makeScene(used);
    for (const key of [BOB, CAROL, ALICE, ALICE]) await makeRun(secured, key);
    await secured.call('PUT', '/v1/preview-blocks', {
      body: { user: 'bob', org: 'globex', reason: 'phishing' },
      token: ADA_ADMIN,
    });
    const hosts = { used, new: fresh, secured };
    for (const [name, { where = 'used', path, show }] of Object.entries(pictures(scene))) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      if (name === 'approval') scene.asking.ask();
      for (const [look, options] of Object.entries(LOOKS)) {
        const context = await browser.newContext(options);
        const page = await context.newPage();
        await page.goto(hosts[where].host.url + path);
        await show(page);
        await page.evaluate('Promise.all(document.getAnimations().map(({ finished }) => finished))');
        await page.evaluate('window.scrollTo(0, 0)');
        const file = join(FOLDER, `${name}-${look}.png`);
        await page.screenshot({ path: file });
        process.stdout.write(`${relative('', file)}\n`);
        await context.close();
      }
    }
  } finally {
    await Promise.all([used.end(), fresh.end(), secured.end()]);
  }
}

if (chromiumMissing !== undefined) throw new Error(chromiumMissing);
ensureConsoleBuilt();
await mkdir(FOLDER, { recursive: true });
const browser = await launchChromium();
try {
  await takeAll(browser, process.argv.slice(2));
} finally {
  await browser.close();
}
