import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { CDPSession } from 'playwright-core';
import type { AccessibilityFinding } from '#core/pages/page-browser.ts';

/**
 * What axe-core finds serious or critical. Frames are left out, and it requests nothing: without
 * `preload: false` it would fetch style sheets.
 */
const RUN = `(async () => {
  const { violations } = await axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
    resultTypes: ['violations'],
    iframes: false,
    preload: false,
  });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .slice(0, 20)
    .map(({ id, impact, help, nodes }) => ({
      rule: id,
      impact,
      help,
      count: nodes.length,
      elements: nodes.slice(0, 3).map(({ target }) => target.join(' ').slice(0, 200)),
    }));
})()`;

let source: string | undefined;

/**
 * The program of axe-core, without a value. All in ASCII: a string with any other character has two
 * bytes for each, and takes twice as long to send and to parse.
 */
export function axeSource(): string {
  source ??=
    `${readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')};0`.replace(
      // Of strings, regular expressions and names.
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  return source;
}

/** Loads axe-core into an isolated world. It takes longer than to run it on most pages. */
export async function loadAxe(cdp: CDPSession, contextId: number): Promise<void> {
  await cdp.send('Runtime.evaluate', { expression: axeSource(), contextId });
}

/** Serious faults for people with disabilities. Rejects if axe-core is not loaded or fails. */
export async function findBarriers(
  cdp: CDPSession,
  contextId: number,
): Promise<readonly AccessibilityFinding[]> {
  const { result, exceptionDetails } = await cdp.send('Runtime.evaluate', {
    expression: RUN,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
  return result.value as readonly AccessibilityFinding[];
}
