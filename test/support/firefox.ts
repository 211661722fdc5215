import { accessSync, constants } from 'node:fs';
import { type Browser, launch } from 'puppeteer-core';
import type { Missing } from './suite.ts';

const PROGRAM = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find((path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
});

/** Why this machine has no Firefox. */
export const firefoxMissing: Missing =
  PROGRAM === undefined ? 'Firefox is not installed: apt-get install firefox-esr' : undefined;

/**
 * A headless Firefox with an empty profile, over WebDriver BiDi: Playwright drives only builds of
 * Firefox that it patches.
 */
export function launchFirefox(preferences: Readonly<Record<string, unknown>> = {}): Promise<Browser> {
  if (PROGRAM === undefined) throw new Error(firefoxMissing);
  return launch({
    browser: 'firefox',
    executablePath: PROGRAM,
    timeout: 120_000,
    protocolTimeout: 120_000,
    // No processes in advance for tabs that a test does not open.
    extraPrefsFirefox: { 'dom.ipc.processPrelaunch.enabled': false, ...preferences },
  });
}
