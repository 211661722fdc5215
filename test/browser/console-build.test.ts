import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { eventually } from '#test/contracts/sandbox-provider.contract.ts';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { suite } from '#test/support/suite.ts';
import { violations } from './support/console-fixture.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The sources of the build that `npm start` uses. */
const SOURCES = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'base',
  'protocol',
  'core',
  'adapters',
  'agent',
  'constructs',
  'guest',
  'proxy',
  'handlers',
  'host',
  'build',
  'console',
  'client/loopback-url.ts',
  'client/streams',
  'client/README.md',
  'CHANGELOG.md',
  'docs',
];
const MINUTE = 60_000;

suite('the console of a folder that was just cloned', chromiumMissing, () => {
  let browser: Browser;
  let page: Page;
  let folder: string;
  let host: HostProcess | undefined;

  beforeAll(async () => {
    browser = await launchHeadlessShell();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-clone-'));
    for (const name of SOURCES) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    page = await browser.newPage();
  });
  afterEach(async () => {
    await page?.close();
    await host?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(environment: Readonly<Record<string, string>> = {}): Promise<string> {
    host = await startHostProcess({
      dataDir: join(folder, '.porthole'),
      main: join(folder, 'host/main.js'),
      environment,
    });
    return `http://127.0.0.1:${host.port}`;
  }
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

  test(
    'is there at once when `npm ci` has prepared it',
    async () => {
      await promisify(execFile)('npm', ['run', 'prepare'], { cwd: folder });
      const began = performance.now();
      const answer = await fetch(await start());
      expect(await answer.text()).toContain('<div id="root">');
      // One to two seconds on a quiet machine; a build alone takes six.
      expect(performance.now() - began).toBeLessThan(15_000);
    },
    2 * MINUTE,
  );

  test(
    'is being built, says so, and comes by itself, at the page that was asked for',
    async () => {
      const url = await start();
      await page.goto(`${url}/sandboxes`);
      await heading('The console is being built');
      expect(await violations(page)).toEqual([]);
      await page.getByRole('heading', { level: 1, name: 'Sandboxes' }).waitFor({ timeout: MINUTE });
    },
    2 * MINUTE,
  );

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'is no longer built once %s has ended the host, and leaves nothing half built',
    async (signal) => {
      await start();
      const isBuilding = () => spawnSync('pgrep', ['-f', join(folder, 'build/console.ts')]).status === 0;
      const built = () =>
        readdirSync(folder, { recursive: true }).filter((name) => /^dist.console/.test(String(name)));
      while (built().length === 0) await pause(20);
      expect(isBuilding()).toBe(true);
      await host?.end(signal);
      expect(await eventually(async () => !isBuilding())).toBe(true);
      expect(built()).toEqual([]);
    },
    2 * MINUTE,
  );

  test(
    'says why it cannot be built, and what to do',
    async () => {
      appendFileSync(join(folder, 'console/src/main.tsx'), "\nimport './not-there.ts';\n");
      const url = await start();
      await page.goto(url);
      await page
        .getByRole('heading', { level: 1, name: 'The console could not be built' })
        .waitFor({ timeout: MINUTE });
      const words = (await page.textContent('main')) ?? '';
      expect(words).toContain('./not-there.ts');
      expect(words).toContain('npm run build');
      expect(words).not.toContain('\u001b');
      expect(await violations(page)).toEqual([]);
    },
    2 * MINUTE,
  );

  test(
    'shows visitors who are not signed in nothing of the machine when it cannot be built, and the build no key',
    async () => {
      appendFileSync(join(folder, 'console/src/main.tsx'), "\nimport './not-there.ts';\n");
      const given = join(folder, 'environment');
      appendFileSync(
        join(folder, 'console/vite.config.ts'),
        `\nprocess.getBuiltinModule('fs').writeFileSync(${JSON.stringify(given)}, JSON.stringify(process.env));\n`,
      );
      const url = await start({ SANDBOX_API_KEY: 'a-key-of-the-service' });
      await page.goto(url);
      await page
        .getByRole('heading', { level: 1, name: 'The console could not be built' })
        .waitFor({ timeout: MINUTE });
      const words = (await page.textContent('main')) ?? '';
      expect(words).toContain('The log says why.');
      expect(words).not.toContain('not-there');
      const environment = JSON.parse(readFileSync(given, 'utf8')) as Record<string, string>;
      expect(Object.keys(environment)).toContain('PATH');
      expect(Object.keys(environment)).not.toContain('SANDBOX_API_KEY');
    },
    2 * MINUTE,
  );

  test(
    'is rebuilt when its sources have changed, while the old build is there',
    async () => {
      cpSync(join(ROOT, 'dist/console'), join(folder, 'dist/console'), { recursive: true });
      const words = join(folder, 'console/src/pages/sandboxes-page.tsx');
      writeFileSync(words, readFileSync(words, 'utf8').replace('<h1>Sandboxes</h1>', '<h1>Other boxes</h1>'));
      const url = await start();
      await page.goto(url);
      await heading('Runs');
      const tag = async () => (await fetch(url)).headers.get('etag');
      const old = await tag();
      while ((await tag()) === old || (await tag()) === null)
        await new Promise((done) => setTimeout(done, 200));
      const looked = page.waitForResponse(`${url}/`);
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      await looked;
      await page.getByRole('link', { name: 'Sandboxes' }).click();
      await heading('Other boxes');
    },
    2 * MINUTE,
  );
});
