import type { CDPSession } from 'playwright-core';
import type {
  ConsoleMessage,
  FailedRequest,
  FailureReason,
  Interruption,
  PageError,
  SocketState,
} from '#core/pages/page-browser.ts';
import type { ScriptPlace } from './source-maps.ts';

const MAX_MESSAGES = 200;
/** Console messages after which the look ends with `console_flood`. */
const FLOOD = 1_000;
const FLOOD_TEXT = 2_000_000;
const MAX_ERRORS = 30;
const MAX_FAILED = 100;
const MAX_REQUESTS = 5_000;
const MAX_FRAMES = 8;
const MAX_TEXT_CHARS = 1_000;
/** Navigations that a page may start by itself. Each step resets the count. */
const MAX_NAVIGATIONS = 15;

interface Request {
  readonly url: string;
  readonly method: string;
  readonly type: string;
  readonly initiator: ScriptPlace | undefined;
  /** Running code asked for it, and not the document or an import declaration. */
  readonly byCode: boolean;
  /** An element of the document asked for it. */
  readonly byElement: boolean;
  readonly began: number;
}

type Unmapped<T> = Omit<T, 'place' | 'initiator' | 'frames' | 'outcome'> & {
  readonly at: readonly (ScriptPlace & { function: string })[];
};

export type UnmappedFailure = Unmapped<FailedRequest> &
  Pick<Request, 'byCode' | 'byElement'> & { readonly fullUrl: string };

/** What a page does during a look, from DevTools events. Every list is bounded. */
export class PageRecorder {
  readonly console: Unmapped<ConsoleMessage>[] = [];
  readonly errors: Unmapped<PageError>[] = [];
  readonly failed: UnmappedFailure[] = [];
  /** Addresses that were answered, without queries, and when. */
  readonly #answered = new Map<string, number>();
  readonly #failedAt = new Map<string, number>();
  readonly #refusedAt = new Map<string, number>();
  /** Paths of the documents that the page has shown. */
  readonly #shown: string[] = [];
  readonly redirects: { status: number; url: string }[] = [];
  readonly sockets = new Map<string, SocketState>();
  /** The request that loaded a script, by URL. */
  readonly scripts = new Map<string, string>();
  /** URLs of scripts that the server answered with 500, which dev servers explain. */
  readonly brokenScripts: string[] = [];
  /** Response of the displayed document. */
  document: { status: number; gateway: string | null } | undefined;
  readonly #requests = new Map<string, Request>();
  readonly #inFlight = new Map<string, Request>();
  readonly #failedIds = new Set<string>();
  /** Requests for data that were answered with a page. */
  readonly #answeredByPages = new Map<string, Request>();
  readonly #allowed: ReadonlySet<string>;
  readonly #shorten: (text: string) => string;
  readonly #interrupt: (why: 'navigations' | 'console_flood') => void;
  #frameId = '';
  #messages = 0;
  #printed = 0;
  #navigations = 0;
  #lastNavigation = performance.now();
  #lastChange = performance.now();

  constructor({ allowed, shorten, interrupt }: RecorderOptions) {
    this.#allowed = allowed;
    this.#shorten = (text) => shorten(text.slice(0, MAX_TEXT_CHARS * 2)).slice(0, MAX_TEXT_CHARS);
    this.#interrupt = interrupt;
  }

  /** URLs that are still loading, without event streams, which never end. */
  get pending(): string[] {
    return [...this.#inFlight.values()].map(({ url }) => this.#shorten(url));
  }

  /** Whether the document, a script or a fetch has failed. */
  get hasFailed(): boolean {
    const isVital = ({ type }: { type: string }): boolean =>
      type === 'script' || type === 'fetch' || type === 'xhr';
    return (this.document?.status ?? 0) >= 400 || this.failed.some(isVital);
  }

  /** Whether the page has a hot reload socket, through which a dev server reports errors. */
  get hasHotReload(): boolean {
    return [...this.sockets.values()].some(({ hotReload, state }) => hotReload && state !== 'refused');
  }

  /** Milliseconds since a request last began or ended; 0 while any is under way. */
  get quietMs(): number {
    // A handshake that is under way may still be refused.
    const isConnecting = [...this.sockets.values()].some(({ state }) => state === 'connecting');
    return this.#inFlight.size > 0 || isConnecting ? 0 : performance.now() - this.#lastChange;
  }

  /**
   * Counts requests for data that were answered with a page as failed, where that is a fault: dev
   * servers answer unknown paths with the page of the app.
   */
  failPagesForData(): void {
    const isParsed = this.errors.some(({ message }) =>
      /is not valid JSON|Unexpected token '?</.test(message),
    );
    for (const [requestId, known] of this.#answeredByPages) {
      if (isParsed || lacksValue(known.url))
        this.#fail(requestId, known, 'status', 'text/html instead of data', 200);
    }
  }

  /** Whether a later request for the same address succeeded. */
  isRecovered({ fullUrl }: Pick<UnmappedFailure, 'fullUrl'>): boolean {
    return (this.#answered.get(withoutQuery(fullUrl)) ?? 0) > (this.#failedAt.get(fullUrl) ?? 0);
  }

  /** Navigations that the page began itself. */
  get navigations(): number {
    return Math.max(0, this.#navigations - 1);
  }

  /** Milliseconds since the page last showed another document. */
  get stayedMs(): number {
    return performance.now() - this.#lastNavigation;
  }

  /** Resets the navigation count: a step may navigate again. */
  beginStep(): void {
    this.#navigations = 0;
    this.#shown.length = 0;
  }

  /** Records what the page in this frame does from now on. */
  listen(cdp: CDPSession, frameId: string): void {
    this.#frameId = frameId;
    this.#onNetwork(cdp);
    this.#onSockets(cdp);
    this.#onMessages(cdp);
    cdp.on('Page.frameNavigated', ({ frame }) => {
      if (frame.parentId !== undefined || frame.id !== this.#frameId) return;
      this.#navigations += 1;
      this.#lastNavigation = performance.now();
      this.#shown.push(withoutQuery(frame.url));
      if (this.#navigations > MAX_NAVIGATIONS || isLoop(this.#shown)) this.#interrupt('navigations');
    });
  }

  #onNetwork(cdp: CDPSession): void {
    cdp.on('Network.requestWillBeSent', (event) => {
      const { requestId, request, type = 'Other', initiator, redirectResponse, frameId } = event;
      const isDocument = type === 'Document' && frameId === this.#frameId;
      if (redirectResponse !== undefined && isDocument && this.redirects.length < 30) {
        this.redirects.push({ status: redirectResponse.status, url: this.#shorten(request.url) });
      }
      if (isDocument && redirectResponse === undefined) this.redirects.length = 0;
      if (this.#requests.size >= MAX_REQUESTS || /^(?:data|blob):/.test(request.url)) return;
      const stack = initiator.stack?.callFrames[0];
      const at: ScriptPlace | undefined =
        stack !== undefined
          ? { url: stack.url, line: stack.lineNumber, column: stack.columnNumber }
          : initiator.url !== undefined
            ? { url: initiator.url, line: initiator.lineNumber ?? 0, column: initiator.columnNumber ?? 0 }
            : undefined;
      const byCode = stack !== undefined;
      const { url, method } = request;
      const byElement = initiator.type === 'parser';
      const began = performance.now();
      const known = { url, method, type: type.toLowerCase(), initiator: at, byCode, byElement, began };
      this.#requests.set(requestId, known);
      if (!['EventSource', 'Ping', 'Preflight'].includes(type)) this.#inFlight.set(requestId, known);
      this.#lastChange = performance.now();
    });
    cdp.on('Network.responseReceived', ({ requestId, response, type, frameId }) => {
      const known = this.#requests.get(requestId);
      if (type === 'Script') this.scripts.set(response.url, requestId);
      if (type === 'Document' && frameId === this.#frameId) {
        const gateway = headerOf(response.headers, 'x-porthole-status');
        this.document = { status: response.status, gateway };
        this.scripts.set(response.url, requestId);
      } else if (known !== undefined && response.status >= 400) {
        const gateway = headerOf(response.headers, 'x-porthole-status');
        const detail = gateway === null ? `HTTP ${response.status}` : `HTTP ${response.status} (${gateway})`;
        this.#fail(requestId, known, 'status', detail, response.status);
        if (type === 'Script' && response.status === 500 && this.brokenScripts.length < MAX_FRAMES)
          this.brokenScripts.push(response.url);
      } else {
        if (known !== undefined && DATA.has(type)) this.#replaceSockets(known.began);
        if (known !== undefined) this.#answered.set(withoutQuery(known.url), performance.now());
        if (response.mimeType !== 'text/html' || (type !== 'Fetch' && type !== 'XHR')) return;
        if (known !== undefined) this.#answeredByPages.set(requestId, known);
      }
    });
    const ended = (requestId: string): void => {
      if (this.#inFlight.delete(requestId)) this.#lastChange = performance.now();
    };
    cdp.on('Network.loadingFinished', ({ requestId }) => ended(requestId));
    cdp.on('Network.loadingFailed', (event) => {
      const { requestId, errorText, canceled, blockedReason, corsErrorStatus } = event;
      ended(requestId);
      const known = this.#requests.get(requestId);
      if (known === undefined || known.type === 'preflight') return;
      const reason = this.#reasonOf(known.url, blockedReason, corsErrorStatus !== undefined, errorText);
      if (canceled === true && blockedReason === undefined) return;
      const detail = corsErrorStatus?.corsError ?? blockedReason ?? errorText;
      this.#fail(requestId, known, reason, detail, null);
    });
  }

  #onSockets(cdp: CDPSession): void {
    const change = (requestId: string, state: SocketState['state']): void => {
      const socket = this.sockets.get(requestId);
      if (socket === undefined) return;
      this.sockets.set(requestId, { ...socket, state });
      if (state === 'refused') this.#refusedAt.set(requestId, performance.now());
      if (state === 'open') this.#replaceSockets(performance.now());
      this.#lastChange = performance.now();
    };
    cdp.on('Network.webSocketCreated', ({ requestId, url, initiator }) => {
      if (this.sockets.size >= 50) return;
      const from = `${initiator?.stack?.callFrames[0]?.url ?? ''} ${url}`;
      const hotReload = /@vite\/client|webpack-hmr|_nuxt|sockjs|livereload|storybook-server/.test(from);
      this.sockets.set(requestId, {
        url: this.#shorten(url),
        state: 'connecting',
        hotReload,
        isReplaced: false,
      });
    });
    cdp.on('Network.webSocketHandshakeResponseReceived', ({ requestId, response }) =>
      change(requestId, response.status === 101 ? 'open' : 'refused'),
    );
    cdp.on('Network.webSocketFrameError', ({ requestId }) => {
      if (this.sockets.get(requestId)?.state === 'connecting') change(requestId, 'refused');
    });
    cdp.on('Network.webSocketClosed', ({ requestId }) => {
      const isOpen = this.sockets.get(requestId)?.state === 'open';
      change(requestId, isOpen ? 'closed' : 'refused');
    });
  }

  /** Data that was asked for after a socket was refused replaces it. */
  #replaceSockets(began: number): void {
    for (const [id, at] of this.#refusedAt) {
      const socket = this.sockets.get(id);
      if (socket !== undefined && at < began) this.sockets.set(id, { ...socket, isReplaced: true });
    }
  }

  #onMessages(cdp: CDPSession): void {
    cdp.on('Runtime.exceptionThrown', ({ exceptionDetails: thrown }) => {
      if (this.errors.length >= MAX_ERRORS) return;
      const { text, exception, stackTrace, url = '', lineNumber, columnNumber } = thrown;
      const value = exception?.description ?? String(exception?.value ?? '');
      const described = value.split('\n    at ', 1)[0] || text.replace(/^Uncaught (?:\(in promise\) ?)?/, '');
      const frames = (stackTrace?.callFrames ?? []).slice(0, MAX_FRAMES).map((frame) => ({
        function: frame.functionName.slice(0, 100),
        url: frame.url,
        line: frame.lineNumber,
        column: frame.columnNumber,
      }));
      const own = { function: '', url, line: lineNumber, column: columnNumber };
      const kind = text.startsWith('Uncaught (in promise)') ? ' (unhandled rejection)' : '';
      const message = this.#shorten(described) + kind;
      this.errors.push({ message, at: frames.length > 0 ? frames : [own] });
    });
    cdp.on('Runtime.consoleAPICalled', ({ type, args, stackTrace }) => {
      const level = LEVELS[type] ?? 'log';
      const words = args
        .slice(0, 10)
        .map(({ value, description, type: kind }) =>
          kind === 'string' || kind === 'number' || kind === 'boolean'
            ? String(value).slice(0, MAX_TEXT_CHARS)
            : (description ?? kind).slice(0, MAX_TEXT_CHARS),
        );
      const frame = stackTrace?.callFrames[0];
      this.#print(
        level,
        formatted(words),
        true,
        frame && { url: frame.url, line: frame.lineNumber, column: frame.columnNumber },
      );
    });
    cdp.on('Log.entryAdded', ({ entry }) => {
      // Failed requests are reported with their reason already.
      if (entry.source === 'network' && entry.text.startsWith('Failed to load resource')) return;
      const level = entry.level === 'verbose' ? 'debug' : entry.level;
      const { url = '', lineNumber: line = 0 } = entry;
      this.#print(level, entry.text, false, url === '' ? undefined : { url, line, column: 0 });
    });
  }

  #print(level: ConsoleMessage['level'], text: string, byPage: boolean, at: ScriptPlace | undefined): void {
    this.#messages += 1;
    this.#printed += text.length;
    if (this.#messages > FLOOD || this.#printed > FLOOD_TEXT) this.#interrupt('console_flood');
    // playwright-core itself logs the second kind of message.
    if (this.console.length >= MAX_MESSAGES || text.startsWith('Service Worker registration blocked')) return;
    this.console.push({
      level,
      text: this.#shorten(text),
      byPage,
      at: at === undefined ? [] : [{ ...at, function: '' }],
    });
  }

  #fail(
    requestId: string,
    known: Request,
    reason: FailureReason,
    detail: string,
    status: number | null,
  ): void {
    if (this.#failedIds.has(requestId) || this.failed.length >= MAX_FAILED) return;
    this.#failedIds.add(requestId);
    const { url, method, type, initiator, byCode, byElement } = known;
    const at = initiator === undefined ? [] : [{ ...initiator, function: '' }];
    this.#failedAt.set(url, performance.now());
    this.failed.push({
      method,
      url: this.#shorten(url),
      fullUrl: url,
      type,
      status,
      reason,
      detail,
      byCode,
      byElement,
      at,
    });
  }

  #reasonOf(url: string, blocked: string | undefined, isCors: boolean, error: string): FailureReason {
    if (blocked === 'csp') return 'csp';
    if (blocked === 'mixed-content') return 'mixed_content';
    const { hostname, host } = URL.canParse(url) ? new URL(url) : { hostname: '', host: '' };
    const withPort = host.includes(':') ? host : `${host}:${url.startsWith('https') ? 443 : 80}`;
    if (!this.#allowed.has(withPort)) return VISITOR.test(hostname) ? 'visitor_machine' : 'other_origin';
    if (isCors) return 'cors';
    return /REFUSED|EMPTY_RESPONSE|RESET|SOCKS/.test(error) ? 'refused' : 'network';
  }
}

export interface RecorderOptions {
  /** `host:port` that the look may reach. */
  readonly allowed: ReadonlySet<string>;
  /** Removes the preview's own origin from a text. */
  readonly shorten: (text: string) => string;
  readonly interrupt: (why: 'navigations' | 'console_flood') => void;
}

/** Why a page does not respond, from its console: a script may be printing without an end. */
export function whyUnresponsive(console: readonly unknown[]): Interruption {
  return console.length < MAX_MESSAGES ? 'unresponsive' : 'console_flood';
}

/** Ways to get data besides a WebSocket. */
const DATA: ReadonlySet<string> = new Set(['Fetch', 'XHR', 'EventSource']);

/** Times that a page may show the same documents again: one more is a loop. */
const MAX_REPEATED = 5;

/** Whether a page goes to and fro between one or two documents. */
function isLoop(shown: readonly string[]): boolean {
  const last = shown.slice(-MAX_REPEATED - 1);
  return last.length > MAX_REPEATED && new Set(last).size <= 2;
}

function withoutQuery(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}

/** Whether a value that the URL is made from was missing. */
function lacksValue(url: string): boolean {
  return /\/(?:undefined|null|NaN)(?:[/?#]|$)/.test(url);
}

/** Names and addresses of the machine that the browser runs on, and of private networks. */
const VISITOR = /^(?:localhost|0\.0\.0\.0|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1?\]$)/;

const LEVELS: Readonly<Record<string, ConsoleMessage['level']>> = {
  error: 'error',
  assert: 'error',
  warning: 'warning',
  info: 'info',
  debug: 'debug',
};

/** Formats `%s` and other console placeholders, without colours. */
function formatted([first = '', ...rest]: readonly string[]): string {
  const left = [...rest];
  const text = first.replace(/%[sdifoOc]/g, (mark) => {
    const value = left.shift();
    return value === undefined ? mark : mark === '%c' ? '' : value;
  });
  return [text, ...left].join(' ');
}

function headerOf(headers: Readonly<Record<string, string>>, name: string): string | null {
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name);
  return found?.[1].slice(0, 60) ?? null;
}
