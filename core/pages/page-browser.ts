/** One look at a page of a preview: where, how large, what to do there, and when it is complete. */
export interface PageVisit {
  /** Scheme, host and port of the preview: the page's origin. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** The other previews of the run, which the page may call. */
  readonly siblings: readonly { readonly origin: string; readonly port: number }[];
  readonly viewport: Viewport;
  readonly steps: readonly PageStep[];
  readonly waitFor: WaitFor | undefined;
  /** Undefined: neither picture nor outline. */
  readonly picture: { readonly fullPage: boolean } | undefined;
}

export interface Viewport {
  readonly width: number;
  readonly height: number;
  readonly scale: number;
  /** With touch, and the meta viewport of the page respected. */
  readonly mobile: boolean;
}

/** What comes after the load event and a short time without requests. */
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

/** A position in a source file: 1-based, in the original file where a source map leads there. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
}

export interface ConsoleMessage {
  readonly level: 'error' | 'warning' | 'info' | 'log' | 'debug';
  readonly text: string;
  readonly place: SourcePlace | null;
}

export interface PageError {
  readonly message: string;
  /** Innermost first. */
  readonly frames: readonly (SourcePlace & { readonly function: string })[];
}

export type FailureReason =
  | 'status'
  /** The page is not allowed to read the answer of another origin. */
  | 'cors'
  /** Its own Content-Security-Policy forbids it. */
  | 'csp'
  /** An HTTP resource on an HTTPS page. */
  | 'mixed_content'
  /** An address of the visitor's own machine, which is not the sandbox. */
  | 'visitor_machine'
  /** Another origin, which a look does not load. */
  | 'other_origin'
  | 'refused'
  | 'network';

export interface FailedRequest {
  readonly method: string;
  /** Relative to the preview's origin. */
  readonly url: string;
  /** As CDP names it, in lower case: `document`, `script`, `fetch`, `image` … */
  readonly type: string;
  readonly status: number | null;
  readonly reason: FailureReason;
  /** What the browser says, e.g. `net::ERR_CONNECTION_REFUSED`. */
  readonly detail: string;
  readonly initiator: SourcePlace | null;
}

/** What a framework shows instead of the page, or over it. */
export interface ErrorOverlay {
  readonly framework: string;
  readonly message: string;
  readonly place: SourcePlace | null;
}

/** What a visitor sees, measured in the page. */
export interface PageFacts {
  readonly title: string;
  /** Visible text, bounded. */
  readonly text: string;
  readonly textLength: number;
  /** Visible pictures, canvases, videos, frames. */
  readonly media: number;
  /** Visible links, buttons and fields. */
  readonly controls: number;
  /** Text that an ancestor without height or width hides. */
  readonly clippedText: number;
  /** The element that clips it, e.g. `div#root`. */
  readonly clippedBy: string | null;
  /** The element that lies over all text and controls. */
  readonly coveredBy: string | null;
  /** An empty mount point, e.g. `#root`. */
  readonly emptyMount: string | null;
  /** It shows that it still loads. */
  readonly loading: boolean;
  /** Counting stopped at the limit. */
  readonly elements: number;
  readonly truncated: boolean;
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

/** Why a look ended before the page was complete. */
export type Interruption =
  | 'memory'
  | 'crash'
  | 'unresponsive'
  | 'time'
  | 'dialogs'
  | 'navigations'
  | 'console_flood';

export interface PageObservation {
  /** Undefined: no document came; `navigationError` says why. */
  readonly status: number | null;
  readonly navigationError: string | null;
  /** The gateway's own page, by its `X-Porthole-Status`. */
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
  readonly timings: {
    readonly ttfbMs: number | null;
    readonly fcpMs: number | null;
    readonly lcpMs: number | null;
    readonly loadMs: number | null;
  };
  readonly interruption: Interruption | null;
  /** How often the page tried what a look does not allow: `dialog`, `popup`, `download`. */
  readonly blocked: Readonly<Record<string, number>>;
  readonly failedStep: {
    readonly step: number;
    readonly reason: string;
    readonly nearest: readonly string[];
  } | null;
  readonly picture: Picture | null;
}

/** A real browser. What it answers is text of the page: hostile input. */
export interface PageBrowser {
  /** Whether `observe` finds a browser; it is `browser_missing` otherwise. */
  isInstalled(): boolean;
  /**
   * Ends within 45 s of its turn, whatever the page does.
   * @throws PortholeError `browser_missing`, `browser_failed`, `too_many_looks`
   */
  observe(visit: PageVisit, owner: string, signal?: AbortSignal): Promise<PageObservation>;
  close(): Promise<void>;
}
