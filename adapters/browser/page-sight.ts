import { readFileSync } from 'node:fs';
import type { PageFacts, PageSight } from '#core/pages/page-browser.ts';
import { evaluateIsolated, isolatedWorld, type PageFrame } from './isolated-world.ts';
import { drawnShare, isReadable, type PixelBox, type Pixels, readPixels } from './page-pixels.ts';

const PROBE = readFileSync(new URL('./sight-probe.js', import.meta.url), 'utf8');

interface TextBox extends PixelBox {
  readonly length: number;
  readonly isHeading: boolean;
  /** Whether another element covers it. */
  readonly isCovered: boolean;
  /** The page hides it on purpose, for instance until the pointer is over it. */
  readonly isMeant: boolean;
}

/** URLs of resources, grouped by their elements. */
export interface ResourceUrls {
  /** Images without a picture, in view. */
  readonly images: readonly string[];
  readonly media: readonly string[];
  /** Fonts of text that has no fallback family. */
  readonly fonts: readonly string[];
  /** The element has an error handler. */
  readonly handled: readonly string[];
  /** Scripts and stylesheets that the document itself loads. */
  readonly loads: readonly string[];
}

/** What `sight-probe.js` returns. */
interface Probed extends Pick<PageSight, 'lengths' | 'hidden' | 'outside' | 'below' | 'clippedBy'> {
  readonly boxes: readonly TextBox[];
  readonly controls: number;
  readonly spinner: PageSight['spinner'];
  readonly isChanging: boolean;
  readonly urls: ResourceUrls;
  readonly structure: PageSight['structure'];
  readonly isMountFlat: boolean;
  readonly hasDarkScheme: boolean;
  readonly scripts: number;
  readonly refresh: number | null;
  readonly view: { readonly width: number; readonly height: number };
}

/** What a person sees, and what the visit needs to know besides. */
export interface Seen {
  readonly sight: PageSight;
  readonly urls: ResourceUrls;
  /** A transition or an animation with an end is under way. */
  readonly isChanging: boolean;
  readonly hasDarkScheme: boolean;
  readonly hasScripts: boolean;
  /** Seconds until the page loads again by itself. */
  readonly refresh: number | null;
}

type Scheme = 'light' | 'dark';

/** Measures the pixels of the viewport, and what the document says of them. */
export async function seePage(frame: PageFrame, facts: PageFacts): Promise<Seen> {
  const { probed, pixels } = await probe(frame);
  const unreadable = unreadableText(probed, pixels, 'light');
  const sight: PageSight = {
    drawn: drawnShare(pixels),
    lengths: probed.lengths,
    controls: probed.controls,
    hidden: probed.hidden,
    outside: probed.outside,
    clippedBy: probed.clippedBy,
    below: probed.below,
    spinner: probed.spinner,
    isMountFlat: probed.isMountFlat,
    unreadable: unreadable === undefined ? [] : [unreadable],
    cover: facts.coveredBy === null ? null : await coverOf(frame, facts.coveredBy, probed, pixels),
    structure: probed.structure,
  };
  const { urls, isChanging, hasDarkScheme, scripts, refresh } = probed;
  return { sight, urls, isChanging, hasDarkScheme, hasScripts: scripts > 0, refresh };
}

/** Text that a person with a dark color scheme cannot read. Measured twice, for pages that fade. */
export async function seeInDark(frame: PageFrame): Promise<PageSight['unreadable'][number] | undefined> {
  const media = (value: string) =>
    frame.cdp.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
  try {
    await media('dark');
    await evaluateIsolated(frame, FRAMES);
    const first = await darkText(frame);
    if (first === undefined) return undefined;
    await evaluateIsolated(frame, `new Promise((go) => setTimeout(go, ${FADE_MS}))`);
    return await darkText(frame);
  } finally {
    await media('light');
  }
}

/** Longest transition of colours that is waited for, in milliseconds. */
const FADE_MS = 700;
/** Two frames: styles are computed in the first. A hidden page has none. */
const FRAMES =
  'new Promise((go) => { requestAnimationFrame(() => requestAnimationFrame(go)); setTimeout(go, 500) })';

async function darkText(frame: PageFrame) {
  const { probed, pixels } = await probe(frame);
  return unreadableText(probed, pixels, 'dark');
}

async function probe(frame: PageFrame): Promise<{ readonly probed: Probed; readonly pixels: Pixels }> {
  const probed = (await evaluateIsolated(frame, PROBE)) as Probed;
  const { data } = await frame.cdp.send('Page.captureScreenshot', {
    format: 'png',
    optimizeForSpeed: true,
  });
  return { probed, pixels: readPixels(data, probed.view.width) };
}

function unreadableText(
  { boxes }: Pick<Probed, 'boxes'>,
  pixels: Pixels,
  scheme: Scheme,
): PageSight['unreadable'][number] | undefined {
  const texts = boxes.filter(({ isCovered, isMeant, length }) => !isCovered && !isMeant && length > 1);
  const lost = texts.filter((box) => !isReadable(pixels, box));
  const sum = (all: readonly TextBox[]): number => all.reduce((total, { length }) => total + length, 0);
  if (lost.length === 0) return undefined;
  const headings = lost.filter(({ isHeading }) => isHeading).length;
  return { scheme, share: sum(lost) / sum(texts), headings };
}

/** The element over all text and controls: whether it is opaque, and takes the person's input. */
async function coverOf(
  frame: PageFrame,
  element: string,
  { boxes, view }: Probed,
  pixels: Pixels,
): Promise<PageSight['cover']> {
  const covered = boxes.filter(({ isCovered, length }) => isCovered && length > 1);
  const isOpaque = covered.length > 0 && !covered.some((box) => isReadable(pixels, box));
  const { x, y } = covered[0] ?? { x: view.width / 2, y: view.height / 2 };
  const top = `document.elementFromPoint(${x} + 1, ${y} + 1)`;
  return { element, isOpaque, takesInput: await takesInput(frame, top) };
}

const INPUT = /^(?:click|pointer|mouse|touch|key|wheel|contextmenu|dblclick)/;
/** React has one listener for all elements; their handlers are properties. */
const REACT = `function () { const key = Object.keys(this).find((name) => name.startsWith('__reactProps$')); return key !== undefined && Object.keys(this[key]).some((name) => /^on(?:Click|Pointer|Mouse|Touch|Wheel)/.test(name)) }`;

async function takesInput(frame: PageFrame, expression: string): Promise<boolean> {
  const { cdp } = frame;
  const { result } = await cdp.send('Runtime.evaluate', {
    expression,
    contextId: await isolatedWorld(frame),
  });
  if (result.objectId === undefined) return false;
  const { node } = await cdp.send('DOM.describeNode', { objectId: result.objectId });
  // Listeners belong to the page's own world.
  const { object } = await cdp.send('DOM.resolveNode', { backendNodeId: node.backendNodeId });
  if (object.objectId === undefined) return false;
  const { listeners } = await cdp.send('DOMDebugger.getEventListeners', { objectId: object.objectId });
  if (listeners.some(({ type }) => INPUT.test(type))) return true;
  const { result: isReact } = await cdp.send('Runtime.callFunctionOn', {
    objectId: object.objectId,
    functionDeclaration: REACT,
    returnByValue: true,
  });
  return isReact.value === true;
}
