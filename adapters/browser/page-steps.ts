import type { Page } from 'playwright-core';
import type { PageStep, WaitFor } from '#core/pages/page-browser.ts';

/** How long a step waits for its element. */
const STEP_MS = 5_000;
const MAX_NEAREST = 8;

/** Carries out one step. Rejects with a message for the caller. */
export async function runStep(page: Page, origin: string, step: PageStep): Promise<void> {
  const options = { timeout: STEP_MS };
  switch (step.action) {
    case 'goto':
      await page.goto(origin + step.path, { waitUntil: 'load', timeout: STEP_MS });
      return;
    case 'click':
      return page.locator(step.selector).first().click(options);
    case 'hover':
      return page.locator(step.selector).first().hover(options);
    case 'fill':
      return page.locator(step.selector).first().fill(step.value, options);
    case 'select':
      await page.locator(step.selector).first().selectOption(step.value, options);
      return;
    case 'press':
      if (step.selector === undefined) return page.keyboard.press(step.key);
      return page.locator(step.selector).first().press(step.key, options);
    case 'wait':
      if ('milliseconds' in step) return page.waitForTimeout(step.milliseconds);
      return awaitCondition(page, step);
  }
}

/** Waits for an element that can be seen, or for a text. */
export async function awaitCondition(
  page: Page,
  condition: Exclude<WaitFor, { state: string }>,
): Promise<void> {
  const wanted = 'selector' in condition ? page.locator(condition.selector) : page.getByText(condition.text);
  await wanted.first().waitFor({ state: 'visible', timeout: STEP_MS });
}

/** playwright-core's message, without its call log. */
export function stepFailure(error: unknown): string {
  const [first = '', ...rest] = (error as Error).message.split('\n');
  const reason = rest.find((line) =>
    /intercepts pointer events|not visible|not enabled|strict mode/.test(line),
  );
  return [first.replace(/^\w+(?:\.\w+)*: /, ''), reason?.trim().replace(/^- /, '')]
    .filter(Boolean)
    .join(' ')
    .slice(0, 300);
}

/** The elements that a person could use, by role and name: what a wrong selector may have meant. */
export async function nearestElements(page: Page, selector: string | undefined): Promise<readonly string[]> {
  const outline = await page
    .locator('body')
    .ariaSnapshot({ timeout: 1_500 })
    .catch(() => '');
  const words = new Set((selector ?? '').toLowerCase().match(/[a-z]{3,}/g) ?? []);
  const usable = outline
    .split('\n')
    .map((line) => line.trim().replace(/^- |:$/g, ''))
    .filter((line) =>
      /^(?:button|link|textbox|checkbox|combobox|radio|menuitem|tab|switch|heading)\b/.test(line),
    );
  const score = (line: string): number =>
    [...words].filter((word) => line.toLowerCase().includes(word)).length;
  return usable
    .toSorted((a, b) => score(b) - score(a))
    .slice(0, MAX_NEAREST)
    .map((line) => line.slice(0, 120));
}
