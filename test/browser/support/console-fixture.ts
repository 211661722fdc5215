import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';

const ROOT = join(import.meta.dirname, '../../..');

/** Where the console's build lies. */
export const BUILT = join(ROOT, 'dist/console');

/** Builds the console where its build is missing or of other sources. Suites may do so at once. */
export function ensureConsoleBuilt(): void {
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'build/console.ts'], {
    cwd: ROOT,
  });
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds that keeps people out: each as its rule and its first element. */
export async function violations(page: Page): Promise<string[]> {
  // By the debugger: the page's own policy lets no such script in. Once a document: it is large.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
  // Only what is wrong leaves the page: its lists of what is right are megabytes.
  return (await page.evaluate(`axe
    .run(document, { iframes: false, resultTypes: ['violations'] })
    .then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + (nodes[0]?.html ?? '')))`)) as string[];
}

/**
 * Presses a button of a request until that counts: it takes no press before it has stood still for
 * a moment, and it moves when what listens becomes known.
 */
export async function decide(card: Locator, name: string): Promise<void> {
  for (let isTaken = false; !isTaken; ) {
    await card.locator('.decision[data-armed="true"]').waitFor();
    await card.getByRole('button', { name, exact: true }).click();
    isTaken = await card.evaluateAll((cards) => cards.every((each) => each.ariaBusy === 'true'));
  }
}

/**
 * What went wrong in a page from now on, and whom it asked: errors of its scripts and its policy,
 * and the origins of its requests, those of frames apart.
 */
export interface Watched {
  readonly problems: readonly string[];
  readonly origins: ReadonlySet<string>;
}

export function watch(page: Page): Watched {
  const problems: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    if (request.frame() === page.mainFrame() && request.url().startsWith('http')) {
      origins.add(new URL(request.url()).origin);
    }
  });
  return { problems, origins };
}

/** Puts a text in the place of all that a code editor of the page holds, as the clipboard does. */
export async function paste(editor: Locator, text: string): Promise<void> {
  await editor.click();
  await editor.press('ControlOrMeta+a');
  // As text: the page's own types are not those of this program.
  await editor.page().evaluate(`(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(text)});
    const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.shadowRoot.activeElement.dispatchEvent(paste);
  })()`);
}
