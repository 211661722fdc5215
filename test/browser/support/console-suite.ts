import { afterAll, beforeAll } from '@jest/globals';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ensureConsoleBuilt } from './console-fixture.ts';

/** What a suite of the console has, from its first test to its last. */
export interface ConsoleSuite {
  porthole: TestHost;
  browser: Browser;
  context: BrowserContext;
}

/** Opens a host, a browser and a context for the tests of a suite, and closes them after it. */
export function consoleSuite(
  settings: Readonly<Record<string, string>> = {},
  options: BrowserContextOptions = {},
): ConsoleSuite {
  const opened = {} as ConsoleSuite;
  beforeAll(async () => {
    ensureConsoleBuilt();
    [opened.porthole, opened.browser] = await Promise.all([startTestHost(settings), launchHeadlessShell()]);
    opened.context = await opened.browser.newContext(options);
  });
  afterAll(async () => {
    await opened.browser?.close();
    await opened.porthole?.end();
  });
  return opened;
}
