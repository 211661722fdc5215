import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { axeSource } from '#adapters/browser/accessibility.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Folder of the console's build. */
export const BUILT = join(ROOT, 'dist/console');

/** Builds the console if its build is missing or of other sources. Safe to run concurrently. */
export function ensureConsoleBuilt(): void {
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'build/console.ts'], {
    cwd: ROOT,
  });
}

/** Themes and windows by user. */
export const LOOKS = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  'a phone': { colorScheme: 'light', viewport: { width: 390, height: 844 } },
  'a dark phone': { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
} as const;

/** Shows the page as to a person with a name, where the host has one user, without sign-in. */
export async function signInAs(page: Page, user: string): Promise<void> {
  await page.addInitScript(`(() => {
    const { fetch } = window;
    window.fetch = async (...request) => {
      const answer = await fetch(...request);
      if (request[1]?.method === 'HEAD' || !answer.ok || !answer.url.endsWith('/api/session')) return answer;
      return Response.json({ ...(await answer.json()), user: ${JSON.stringify(user)} });
    };
  })()`);
}

/** Makes the page believe that it is hidden, or visible again. */
export async function turn(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
    document.dispatchEvent(new Event('visibilitychange'));
  })()`);
}

/** Waits for the animations that end. */
const ARRIVED = `Promise.all(document.getAnimations()
  .filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity)
  .map(({ finished }) => finished.catch(() => 0)))
  .then(() => 0)`;

/** Accessibility violations found by axe-core: each as its rule and its first element. */
export async function violations(page: Pick<Page, 'evaluate'>): Promise<string[]> {
  // Through the debugger, because the page's CSP blocks injected scripts. Once per document: the
  // script is large.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource());
  // A card that is still fading in has too little contrast.
  await page.evaluate(ARRIVED);
  // Only violations leave the page: the lists of passes are megabytes.
  return (await page.evaluate(`axe
    .run(document, { iframes: false, resultTypes: ['violations'] })
    .then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + (nodes[0]?.html ?? '')))`)) as string[];
}

/**
 * Presses a button of a request until that counts: it takes no press until it has been unmoved for
 * a moment, and it moves when the listener is detected.
 */
export async function decide(card: Locator, name: string): Promise<void> {
  for (let isTaken = false; !isTaken; ) {
    await card.locator('.decision[data-armed="true"]').waitFor();
    await card.getByRole('button', { name, exact: true }).click();
    isTaken = await card.evaluateAll((cards) => cards.every((each) => each.ariaBusy === 'true'));
  }
}

/**
 * Errors of a page's scripts and CSP from now on, and the origins of its requests, except those of
 * frames.
 */
export interface Watched {
  readonly problems: readonly string[];
  readonly origins: ReadonlySet<string>;
}

export function watch(page: Page): Watched {
  const problems: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    if (request.frame() === page.mainFrame() && request.url().startsWith('http')) {
      origins.add(new URL(request.url()).origin);
    }
  });
  return { problems, origins };
}

/** Replaces the content of a code editor of the page, like a paste. */
export async function paste(editor: Locator, text: string): Promise<void> {
  await editor.click();
  await editor.press('ControlOrMeta+a');
  // As a string: this program does not have the page's types.
  await editor.page().evaluate(`(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(text)});
    const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.shadowRoot.activeElement.dispatchEvent(paste);
  })()`);
}
