import { readFileSync } from 'node:fs';
import type { CDPSession, Page } from 'playwright-core';
import { z } from 'zod';
import type { PageElement, Picture, Point, SourcePlace } from '#core/pages/page-browser.ts';
import { plainText } from '#base/plain-text.ts';
import { isolatedWorld, type PageFrame } from './isolated-world.ts';
import { fileOf, type ScriptPlace } from './source-maps.ts';

const DESCRIBE = functionIn('./describe-element.js');
const COMPONENT = functionIn('./component-source.js');

const MAX_FRAMES = 12;
/** Not the project's own code. */
const PACKAGES = /\/node_modules\/|\/\.vite\//;
const MAX_SELECTOR_CHARS = 500;
const MAX_NAME_CHARS = 200;
/** Around the element in its picture, in CSS pixels; and the largest picture of one. */
const MARGIN = 24;
const MAX_PICTURE = { width: 800, height: 500, bytes: 131_072 };

const Described = z.object({
  selector: z.string().min(1),
  box: z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() }),
});
/** Written by the page. */
const Component = z.object({
  component: z.string().nullable(),
  file: z.string().max(400).nullable(),
  line: z.int().positive().nullable(),
  column: z.int().positive().nullable(),
  stack: z.string().max(8_000).nullable(),
});

export interface FindElement {
  readonly page: Page;
  readonly frame: PageFrame;
  readonly origin: string;
  readonly original: (at: ScriptPlace) => Promise<SourcePlace | null>;
  readonly withinMs: number;
}

/**
 * The topmost element at a point. Position, selector, role and name come from the browser, outside
 * the page's reach; component and source from the page's framework.
 */
export async function findElement(
  { page, frame, origin, original, withinMs }: FindElement,
  point: Point,
): Promise<(PageElement & { readonly picture: Picture | null }) | null> {
  const { cdp } = frame;
  await cdp.send('DOM.enable');
  const { cssLayoutViewport: seen } = await cdp.send('Page.getLayoutMetrics');
  // Only points in the viewport can be resolved; a picture of a full page has others.
  const top = point.y < seen.clientHeight ? 0 : Math.floor(point.y - seen.clientHeight / 2);
  const executionContextId = await isolatedWorld(frame);
  await cdp.send('Runtime.evaluate', {
    expression: `scrollTo({ top: ${top}, left: 0, behavior: 'instant' })`,
    contextId: executionContextId,
  });
  const found = await cdp
    // Counts from the top left of the document.
    .send('DOM.getNodeForLocation', {
      x: Math.round(point.x),
      y: Math.round(point.y),
      ignorePointerEventsNone: false,
    })
    .catch(() => undefined);
  if (found === undefined) return null;
  const at = { backendNodeId: found.backendNodeId };
  const inside = await cdp.send('DOM.resolveNode', { ...at, executionContextId });
  const control = await call(cdp, inside.object.objectId, CONTROL, false);
  const described = Described.safeParse((await call(cdp, control.objectId, DESCRIBE, true)).value);
  if (control.objectId === undefined || !described.success) return null;
  const { node } = await cdp.send('DOM.describeNode', { objectId: control.objectId });
  const own = await cdp.send('DOM.resolveNode', { backendNodeId: node.backendNodeId });
  const component = Component.safeParse((await call(cdp, own.object.objectId, COMPONENT, true)).value).data;
  const { nodes } = await cdp.send('Accessibility.getPartialAXTree', {
    objectId: control.objectId,
    fetchRelatives: false,
  });
  const named = nodes.find(({ ignored }) => !ignored);
  const { selector, box } = described.data;
  return {
    selector: plainText(selector, MAX_SELECTOR_CHARS),
    role: wordOf(named?.role?.value),
    name: wordOf(named?.name?.value),
    component: wordOf(component?.component),
    place: component === undefined ? null : await placeOf(component, origin, original),
    picture: await pictureOf(page, box, withinMs),
  };
}

/** DevTools takes an expression, without the semicolon of the file's statement. */
function functionIn(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8').replace(/;\s*$/, '');
}

/** A part of a control: the control is meant. */
const CONTROL = `function () {
  const element = this.nodeType === Node.ELEMENT_NODE ? this : this.parentElement;
  return element.closest('a[href], button, summary, [role=button], [role=link]') ?? element;
}`;

async function call(cdp: CDPSession, objectId: string | undefined, text: string, returnByValue: boolean) {
  if (objectId === undefined) return { value: undefined, objectId: undefined };
  const sent = { objectId, functionDeclaration: text, returnByValue };
  return (await cdp.send('Runtime.callFunctionOn', sent)).result;
}

function wordOf(value: unknown): string | null {
  const word = typeof value === 'string' ? plainText(value, MAX_NAME_CHARS) : '';
  return word === '' ? null : word;
}

async function placeOf(
  { file, line, column, stack }: z.output<typeof Component>,
  origin: string,
  original: FindElement['original'],
): Promise<SourcePlace | null> {
  if (file !== null) return { file: plainText(fileOf(file, origin), 300), line, column };
  // React 19: the stack of the element's creation. The first frames are React's own.
  const frames = [...(stack ?? '').matchAll(/\(?(https?:\/\/[^\s()]{1,400}):(\d+):(\d+)\)?/g)];
  for (const [, url = '', row, offset] of frames.slice(0, MAX_FRAMES)) {
    if (!url.startsWith(`${origin}/`) || PACKAGES.test(url)) continue;
    const found = await original({ url, line: Number(row) - 1, column: Number(offset) - 1 });
    if (found !== null && !PACKAGES.test(`/${found.file}`)) return found;
  }
  return null;
}

async function pictureOf(
  page: Page,
  box: z.output<typeof Described>['box'],
  timeout: number,
): Promise<Picture | null> {
  const x = Math.max(0, Math.floor(box.x - MARGIN));
  const y = Math.max(0, Math.floor(box.y - MARGIN));
  const width = Math.min(MAX_PICTURE.width, Math.ceil(box.width + 2 * MARGIN));
  const height = Math.min(MAX_PICTURE.height, Math.ceil(box.height + 2 * MARGIN));
  const clip = { x, y, width, height };
  try {
    const bytes = await page.screenshot({
      fullPage: true,
      clip,
      timeout,
      animations: 'disabled',
      type: 'jpeg',
      quality: 80,
      scale: 'css',
    });
    if (bytes.length > MAX_PICTURE.bytes) return null;
    return { mediaType: 'image/jpeg', width, height, base64: bytes.toString('base64') };
  } catch {
    return null;
  }
}
