import { type Browser, chromium } from 'playwright-core';
import { BROWSERS, findBrowser } from '#adapters/browser/chromium-pages.ts';
import type { Missing } from './suite.ts';

/** A person's browser, which is no headless shell. */
const PROGRAM = findBrowser(BROWSERS);

/** Why this machine has no browser. */
export const chromiumMissing: Missing =
  PROGRAM === undefined ? 'Chromium is not installed: apt-get install chromium' : undefined;

/**
 * A headless Chromium with an empty profile that makes no requests besides those of the pages.
 * `args` are additional flags.
 */
export function launchChromium(args: readonly string[] = []): Promise<Browser> {
  return launch(PROGRAM, args);
}

/** Pages of tests end before the code is worth it: a fifth of their processor time. */
const WITHOUT_OPTIMIZING = '--js-flags=--no-opt --no-maglev';

/**
 * The same engine without the parts around a page, if installed, and without optimizing compilers:
 * half the processor time for a page. For the console's own pages. Suites of apps, and of what
 * pages may do to a browser, need the whole one, in which `console.test.ts` opens the console, too.
 */
export function launchHeadlessShell(): Promise<Browser> {
  return launch(findBrowser(), [WITHOUT_OPTIMIZING]);
}

function launch(program: string | undefined, args: readonly string[]): Promise<Browser> {
  if (program === undefined) throw new Error(chromiumMissing);
  return chromium.launch({
    executablePath: program,
    // Chromium's sandbox does not run as root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...args,
    ],
  });
}
