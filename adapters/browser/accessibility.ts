import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AccessibilityFinding } from '#core/pages/page-browser.ts';
import { evaluateIsolated, type PageFrame } from './isolated-world.ts';

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

/** Loads axe-core. It takes longer than to run it on most pages. */
export async function loadAxe(frame: PageFrame): Promise<void> {
  await evaluateIsolated(frame, axeSource());
}

/** Serious faults for people with disabilities. Rejects if axe-core fails. */
export async function findBarriers(frame: PageFrame): Promise<readonly AccessibilityFinding[]> {
  // It is not there yet, or was loaded into an earlier document.
  const found = await evaluateIsolated(frame, RUN).catch(async () => {
    await loadAxe(frame);
    return evaluateIsolated(frame, RUN);
  });
  return found as readonly AccessibilityFinding[];
}
