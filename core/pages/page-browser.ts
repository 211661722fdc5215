/** One visit to a page of a preview: URL, viewport, steps, and when it is complete. */
export interface PageVisit {
  /** Scheme, host and port of the preview: the page's origin. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Other previews of the run, which the page may call. */
  readonly siblings: readonly { readonly origin: string; readonly port: number }[];
  readonly viewport: Viewport;
  readonly steps: readonly PageStep[];
  readonly waitFor: WaitFor | undefined;
  /** Undefined: no screenshot, outline or accessibility. */
  readonly picture: { readonly fullPage: boolean } | undefined;
  /** An earlier picture of the same page, to compare the new one with. */
  readonly previous?: Picture | undefined;
  /** Reports the element at this point, in CSS pixels from the top left of the page. */
  readonly point?: Point | undefined;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Viewport {
  readonly width: number;
  readonly height: number;
  readonly scale: number;
  /** With touch input and the page's meta viewport. */
  readonly mobile: boolean;
}

/** Condition to wait for after the load event and a short time without requests. */
export type WaitFor =
  | { readonly state: 'network_idle' }
  | { readonly selector: string }
  | { readonly text: string };

export type PageStep =
  | { readonly action: 'goto'; readonly path: string }
  | { readonly action: 'click' | 'hover'; readonly selector: string }
  | { readonly action: 'fill' | 'select'; readonly selector: string; readonly value: string }
  | { readonly action: 'press'; readonly selector?: string | undefined; readonly key: string }
  | { readonly action: 'wait'; readonly selector: string }
  | { readonly action: 'wait'; readonly text: string }
  | { readonly action: 'wait'; readonly milliseconds: number };

/** A position in a source file: 1-based, in the original file if a source map resolves it. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
}

export const CONSOLE_LEVELS = ['error', 'warning', 'info', 'log', 'debug'] as const;

export interface ConsoleMessage {
  readonly level: (typeof CONSOLE_LEVELS)[number];
  readonly text: string;
  readonly place: SourcePlace | null;
}

export interface PageError {
  readonly message: string;
  /** Innermost first. */
  readonly frames: readonly (SourcePlace & { readonly function: string })[];
}

export const FAILURE_REASONS = [
  'status',
  /** CORS: the page may not read the answer of another origin. */
  'cors',
  /** The page's Content-Security-Policy blocks it. */
  'csp',
  /** An HTTP resource on an HTTPS page. */
  'mixed_content',
  /** A loopback address: the visitor's own machine, not the sandbox. */
  'visitor_machine',
  /** Another origin, which the browser does not load here. */
  'other_origin',
  'refused',
  'network',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

export interface FailedRequest {
  readonly method: string;
  /** Relative to the preview's origin. */
  readonly url: string;
  /** CDP resource type in lower case: `document`, `script`, `fetch`, `image` … */
  readonly type: string;
  readonly status: number | null;
  readonly reason: FailureReason;
  /** The browser's error, e.g. `net::ERR_CONNECTION_REFUSED`. */
  readonly detail: string;
  readonly initiator: SourcePlace | null;
}

/** A framework's error message instead of the page, or over it. */
export interface ErrorOverlay {
  readonly framework: string;
  readonly message: string;
  readonly place: SourcePlace | null;
}

/** Visible content, measured in the page. */
export interface PageFacts {
  readonly title: string;
  /** Visible text, truncated. */
  readonly text: string;
  readonly textLength: number;
  /** Visible pictures, canvases, videos, frames. */
  readonly media: number;
  /** Visible links, buttons and fields. */
  readonly controls: number;
  /** Length of text that an ancestor without height or width hides. */
  readonly clippedText: number;
  /** The element that clips it, e.g. `div#root`. */
  readonly clippedBy: string | null;
  /** The element that covers all text and controls. */
  readonly coveredBy: string | null;
  /** An empty mount point, e.g. `#root`. */
  readonly emptyMount: string | null;
  /** Whether it shows a loading indicator. */
  readonly loading: boolean;
  /** Counting stops at the limit. */
  readonly elements: number;
  readonly truncated: boolean;
}

/** A rule of accessibility that elements of the page violate. */
export interface AccessibilityFinding {
  /** Id in axe-core, e.g. `image-alt`. */
  readonly rule: string;
  readonly impact: 'serious' | 'critical';
  readonly help: string;
  /** Elements that violate it. */
  readonly count: number;
  /** Selectors of the first ones. */
  readonly elements: readonly string[];
}

export interface SocketState {
  readonly url: string;
  readonly state: 'connecting' | 'open' | 'closed' | 'refused';
  readonly hotReload: boolean;
}

export interface Picture {
  readonly mediaType: 'image/png' | 'image/jpeg';
  readonly width: number;
  readonly height: number;
  readonly base64: string;
}

export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** How a picture differs from an earlier one. */
export interface PixelDifference {
  readonly changedPixels: number;
  /** Of all pixels. */
  readonly changedRatio: number;
  /** In pixels, the largest first. */
  readonly areas: readonly Area[];
  /** The page faded, with the changes in red; null for an unchanged page. */
  readonly picture: Picture | null;
}

/** An element of a page, described for people and agents. */
export interface PageElement {
  /** CSS; matches only this element when it was found. */
  readonly selector: string;
  /** ARIA role and accessible name. */
  readonly role: string | null;
  readonly name: string | null;
  /** The framework's component that rendered it. */
  readonly component: string | null;
  /** Where the source has it, by the framework's development data or source maps. */
  readonly place: SourcePlace | null;
}

/** Why a visit ended before the page was complete. */
export type Interruption =
  | 'memory'
  | 'crash'
  | 'unresponsive'
  | 'time'
  | 'dialogs'
  | 'navigations'
  | 'console_flood';

export interface PageObservation {
  /** Null: no document was received; `navigationError` has the reason. */
  readonly status: number | null;
  readonly navigationError: string | null;
  /** The gateway's status page, from its `X-Porthole-Status` header. */
  readonly gateway: string | null;
  readonly redirects: readonly { readonly status: number; readonly url: string }[];
  readonly url: string;
  readonly contentType: string | null;
  readonly console: readonly ConsoleMessage[];
  readonly errors: readonly PageError[];
  readonly failed: readonly FailedRequest[];
  readonly overlays: readonly ErrorOverlay[];
  readonly sockets: readonly SocketState[];
  /** URLs that were still loading. */
  readonly pending: readonly string[];
  readonly facts: PageFacts | null;
  readonly outline: string | null;
  /** Null for a check, and for pages that are too large. */
  readonly accessibility: readonly AccessibilityFinding[] | null;
  readonly timings: {
    readonly ttfbMs: number | null;
    readonly fcpMs: number | null;
    readonly lcpMs: number | null;
    readonly loadMs: number | null;
  };
  readonly interruption: Interruption | null;
  /** How often the page tried a blocked action: `dialog`, `popup`, `download`. */
  readonly blocked: Readonly<Record<string, number>>;
  readonly failedStep: {
    readonly step: number;
    readonly reason: string;
    readonly nearest: readonly string[];
  } | null;
  readonly picture: Picture | null;
  /** Null also where `previous` is the same picture. */
  readonly thumbnail: Picture | null;
  /** To `previous`; null where they could not be compared. */
  readonly difference: PixelDifference | null;
  /** The element at `point`, with a picture of it and its surroundings. */
  readonly element: (PageElement & { readonly picture: Picture | null }) | null;
}

/** A real browser. Its results contain text of the page: hostile input. */
export interface PageBrowser {
  /** Whether a browser is installed; otherwise `observe` throws `browser_missing`. */
  isInstalled(): boolean;
  /**
   * Ends within 45 s of its start, whatever the page does.
   * @throws PortholeError `browser_missing`, `browser_failed`, `too_many_looks`
   */
  observe(visit: PageVisit, owner: string, signal?: AbortSignal): Promise<PageObservation>;
  close(): Promise<void>;
}
