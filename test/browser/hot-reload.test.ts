import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { startViteProject, type ViteProject } from '#test/support/vite-project.ts';

suite('a Vite dev server in a sandbox, in a real browser', chromiumMissing, () => {
  let porthole: TestHost;
  let browser: Browser;
  let project: ViteProject;
  let page: Page;
  let documents = 0;
  const problems: string[] = [];

  beforeAll(async () => {
    [porthole, browser] = await Promise.all([startTestHost(), launchChromium()]);
    project = await startViteProject(porthole);
    page = await browser.newPage();
    page.on('domcontentloaded', () => (documents += 1));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(error.message));
  });
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  test('loads, with no setting for a proxy in the project', async () => {
    expect(project.files.filter((file) => file.includes('config'))).toEqual([]);
    const connected = page.waitForEvent('console', (message) => message.text() === '[vite] connected.');
    await page.goto(project.url);
    expect(await page.textContent('h1')).toBe('Hello from the sandbox');
    await connected;
    await page.evaluate('globalThis.marker = "set before the edits"');
    expect(documents).toBe(1);
  });

  test('shows an edited module without a reload', async () => {
    await project.write('src/heading.js', "export default 'Edited through the API';\n");
    await page.waitForSelector('h1:text-is("Edited through the API")');
    expect(await page.textContent('.proof')).toMatch(/^Loaded \d+ s ago, edited once since/);
  });

  test('shows an edited style sheet without a reload', async () => {
    await project.write('src/accent.css', ':root {\n  --accent: rgb(180, 83, 9);\n}\n');
    await page.waitForFunction(
      "getComputedStyle(document.documentElement).getPropertyValue('--accent') === 'rgb(180, 83, 9)'",
    );
    expect(await page.textContent('h1')).toBe('Edited through the API');
  });

  test('keeps its one document through all of it, and its console clean', async () => {
    expect(await page.evaluate('globalThis.marker')).toBe('set before the edits');
    expect(documents).toBe(1);
    expect(problems).toEqual([]);
  });
});
