/**
 * Visits and observations as schemas, for browser servers. The rest imports the types in
 * `page-browser.ts`, which load no zod.
 */
import { z } from 'zod';
import { CONSOLE_LEVELS, FAILURE_OUTCOMES, FAILURE_REASONS } from './page-browser.ts';

const text = z.string().max(262_144);
const list = <T extends z.ZodType>(each: T) => z.array(each).max(5_000);
const size = z.number().min(0).max(1_000_000);
const measured = z.number().nullable();

/** An origin without a path: the browser reaches nothing else. */
const origin = z
  .url({ protocol: /^https?$/ })
  .max(300)
  .refine((value) => URL.parse(value)?.origin === value);
const path = z.string().startsWith('/').max(8_192);
const pass = z.string().max(2_048);
const selector = z.string().max(8_192);

export const picture = z.object({
  mediaType: z.enum(['image/png', 'image/jpeg']),
  width: size,
  height: size,
  base64: z.base64().max(2_097_152),
});

export const point = z.object({ x: z.number(), y: z.number() });

export const viewport = z.object({
  width: z.int().min(1).max(10_000),
  height: z.int().min(1).max(10_000),
  scale: z.number().positive().max(10),
  /** With touch input and the page's meta viewport. */
  mobile: z.boolean(),
});

/** Condition to wait for after the load event and a short time without requests. */
export const waitFor = z.union([
  z.object({ state: z.literal('network_idle') }),
  z.object({ selector }),
  z.object({ text: selector }),
]);

export const pageStep = z.union([
  z.object({ action: z.literal('goto'), path }),
  z.object({ action: z.enum(['click', 'hover']), selector }),
  z.object({ action: z.enum(['fill', 'select']), selector, value: text }),
  z.object({ action: z.literal('press'), selector: selector.optional(), key: z.string().max(100) }),
  z.object({ action: z.literal('wait'), selector }),
  z.object({ action: z.literal('wait'), text: selector }),
  z.object({ action: z.literal('wait'), milliseconds: z.number().min(0).max(60_000) }),
]);

/** One visit to a page of a preview: URL, viewport, steps, and when it is complete. */
export const pageVisit = z
  .object({
    /** Scheme, host and port of the preview: the page's origin. */
    origin,
    /** Path and query. */
    path,
    /** Other previews of the run, which the page may call. */
    siblings: z
      .array(z.object({ origin, port: z.int().min(1).max(65_535), pass: pass.optional() }))
      .max(1_000),
    /** Lets the browser pass to a preview that is not open to everyone. A secret. */
    pass: pass.optional(),
    viewport,
    steps: z.array(pageStep).max(100),
    waitFor: waitFor.optional(),
    /** Undefined: no screenshot, outline or accessibility. */
    picture: z.object({ fullPage: z.boolean() }).optional(),
    /** An earlier picture of the same page, to compare the new one with. */
    previous: picture.optional(),
    /** Reports the element at this point, in CSS pixels from the top left of the page. */
    point: point.optional(),
  })
  // JSON leaves undefined out.
  .transform((visit) => ({ ...visit, waitFor: visit.waitFor, picture: visit.picture }));

/** A position in a source file: 1-based, in the original file if a source map resolves it. */
export const sourcePlace = z.object({ file: text, line: measured, column: measured });
const place = sourcePlace.nullable();

export const consoleMessage = z.object({
  level: z.enum(CONSOLE_LEVELS),
  text,
  place,
  /** Printed by the page's own code, and not by the browser. */
  byPage: z.boolean().default(false),
});

export const pageError = z.object({
  message: text,
  /** Innermost first. */
  frames: list(sourcePlace.extend({ function: text })),
});

export const failedRequest = z.object({
  method: text,
  /** Relative to the preview's origin. */
  url: text,
  /** CDP resource type in lower case: `document`, `script`, `fetch`, `image` … */
  type: text,
  status: z.number().nullable(),
  reason: z.enum(FAILURE_REASONS),
  /** The browser's error, e.g. `net::ERR_CONNECTION_REFUSED`. */
  detail: text,
  initiator: place,
  /** Browser servers of earlier versions do not say. */
  outcome: z.enum(FAILURE_OUTCOMES).default('missing'),
});

/** A framework's error message instead of the page, or over it. */
export const errorOverlay = z.object({ framework: text, message: text, place });

/** Visible content, measured in the page. */
export const pageFacts = z.object({
  title: text,
  /** Visible text, truncated. */
  text,
  textLength: z.number(),
  /** Visible pictures, canvases, videos, frames. */
  media: z.number(),
  /** Visible links, buttons and fields. */
  controls: z.number(),
  /** Length of text that an ancestor without height or width hides. */
  clippedText: z.number(),
  /** The element that clips it, e.g. `div#root`. */
  clippedBy: text.nullable(),
  /** The element that covers all text and controls. */
  coveredBy: text.nullable(),
  /** An empty mount point, e.g. `#root`. */
  emptyMount: text.nullable(),
  /** Whether it shows a loading indicator. */
  loading: z.boolean(),
  /** Counting stops at the limit. */
  elements: z.number(),
  truncated: z.boolean(),
});

/** What a person sees, measured in pixels and boxes of the viewport. */
export const pageSight = z.object({
  /** Share of the pixels that differ from the commonest colour. */
  drawn: z.number(),
  /** Characters, by where their boxes are. */
  lengths: z.object({
    inView: z.number(),
    /** Scrolling shows them. */
    below: z.number(),
    /** No scrolling shows them. */
    outside: z.number(),
    /** Without navigation, dialogs and footers. */
    outsideMain: z.number(),
    /** An ancestor without size clips them. */
    clipped: z.number(),
    hidden: z.number(),
  }),
  /** Controls and media in view. */
  controls: z.number(),
  /** The element that hides text by its style. */
  hidden: z.object({ element: text, by: z.enum(['display', 'visibility', 'opacity']) }).nullable(),
  /** An element with text that no scrolling shows. */
  outside: text.nullable(),
  clippedBy: text.nullable(),
  /** Where content begins that scrolling shows, in CSS pixels. */
  below: measured,
  /** What moves without end. */
  spinner: z
    .object({
      element: text,
      /** It is in a layer over the whole viewport, without controls. */
      isOver: z.boolean(),
      /** Its names or roles call it a progress indicator. */
      isMarked: z.boolean(),
      /** Of the viewport. */
      share: z.number(),
    })
    .nullable(),
  /** A framework's mount point is empty and has no size. */
  isMountFlat: z.boolean(),
  /** Text with the pixels of its background, by color scheme. */
  unreadable: list(
    z.object({
      scheme: z.enum(['light', 'dark']),
      /** Of the text in view. */
      share: z.number(),
      /** Headings and buttons among it. */
      headings: z.number(),
    }),
  ),
  /** The element over all text and controls. */
  cover: z.object({ element: text, isOpaque: z.boolean(), takesInput: z.boolean() }).nullable(),
  structure: z.object({
    heading: text,
    /** The first lines of the text. */
    sample: text,
    /** Text of elements for code. */
    code: text,
    comments: text,
    links: z.number(),
    /** Links that show the file name of their address. */
    namedLinks: z.number(),
    controls: z.number(),
  }),
});

/** A rule of accessibility that elements of the page violate. */
export const accessibilityFinding = z.object({
  /** Id in axe-core, e.g. `image-alt`. */
  rule: text,
  impact: z.enum(['serious', 'critical']),
  help: text,
  /** Elements that violate it. */
  count: z.number(),
  /** Selectors of the first elements. */
  elements: list(text),
});

export const socketState = z.object({
  url: text,
  state: z.enum(['connecting', 'open', 'closed', 'refused']),
  hotReload: z.boolean(),
  /** Whether the page got data in another way after the refusal. */
  isReplaced: z.boolean().default(false),
});

export const area = z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() });

/** How a picture differs from an earlier one. */
export const pixelDifference = z.object({
  changedPixels: z.number(),
  /** Of all pixels. */
  changedRatio: z.number(),
  /** In pixels, the largest first. */
  areas: list(area),
  /** The page faded, with the changes in red; null for an unchanged page. */
  picture: picture.nullable(),
});

/** An element of a page, described for people and agents. */
export const pageElement = z.object({
  /** CSS; matches only this element when it was found. */
  selector: text,
  /** ARIA role and accessible name. */
  role: text.nullable(),
  name: text.nullable(),
  /** The framework's component that rendered it. */
  component: text.nullable(),
  /** Where the source has it, by the framework's development data or source maps. */
  place,
});

/** Why a visit ended before the page was complete. */
export const interruption = z.enum([
  'memory',
  'crash',
  'unresponsive',
  'no_answer',
  'time',
  'dialogs',
  'navigations',
  'console_flood',
]);

/** Everything in it may be the page's own text. */
export const pageObservation = z.object({
  /** Null: no document was received; `navigationError` has the reason. */
  status: z.number().nullable(),
  navigationError: text.nullable(),
  /** The gateway's status page, from its `X-Porthole-Status` header. */
  gateway: text.nullable(),
  redirects: list(z.object({ status: z.number(), url: text })),
  url: text,
  contentType: text.nullable(),
  console: list(consoleMessage),
  errors: list(pageError),
  failed: list(failedRequest),
  overlays: list(errorOverlay),
  sockets: list(socketState),
  /** URLs that were still loading. */
  pending: list(text),
  facts: pageFacts.nullable(),
  /** Null where no picture could be taken, and from browser servers of earlier versions. */
  sight: pageSight.nullable().default(null),
  outline: text.nullable(),
  /** Null for a check, and for pages that are too large. */
  accessibility: list(accessibilityFinding).nullable(),
  timings: z.object({ ttfbMs: measured, fcpMs: measured, lcpMs: measured, loadMs: measured }),
  interruption: interruption.nullable(),
  /** How often the page tried a blocked action: `dialog`, `popup`, `download`. */
  blocked: z.record(z.string().max(100), z.number()),
  failedStep: z.object({ step: z.number(), reason: text, nearest: list(text) }).nullable(),
  picture: picture.nullable(),
  /** Null also where `previous` is the same picture. */
  thumbnail: picture.nullable(),
  /** To `previous`; null where they could not be compared. */
  difference: pixelDifference.nullable(),
  /** The element at `point`, with a picture of it and its surroundings. */
  element: pageElement.extend({ picture: picture.nullable() }).nullable(),
});
