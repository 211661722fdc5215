import { ofSight } from './classify-sight.ts';
import { placeIn } from './document-faults.ts';
import type { FailedRequest, Interruption, PageError, PageObservation, SourcePlace } from './page-browser.ts';
import { cause, isPoor, type PageCause, type PageResult, type Ranked, unsure } from './page-cause.ts';

const MAX_CAUSES = 6;

/**
 * Whether a page works for a visitor, from what a browser observed. Causes that are not proof (a
 * 404 that the app may handle) make the result `unclear`, and are listed once another cause is
 * proof. Console output alone is not a cause.
 */
export function classifyPage(seen: PageObservation): PageResult {
  const found = [
    ...ofNavigation(seen),
    ...ofOverlays(seen),
    ...ofErrors(seen),
    ...ofConsole(seen),
    ...ofRequests(seen),
    ...ofSockets(seen),
    ...ofSight(seen),
  ].toSorted((a, b) => a.rank - b.rank);
  const causes = unique(found).slice(0, MAX_CAUSES);
  // The page may only lack resources that the browser does not load.
  const isLimited = found[0]?.kind === 'other_origin';
  const result = isLimited
    ? found.some(({ proof }) => proof)
      ? 'unclear'
      : 'works'
    : found.some(({ proof }) => proof)
      ? 'broken'
      : found.length > 0
        ? 'unclear'
        : 'works';
  const notes = notesOf(seen);
  return { result, causes: result === 'works' ? [] : causes, ...(notes.length > 0 && { notes }) };
}

/** Requests that failed while the page goes on without them. */
function notesOf({ failed }: PageObservation): string[] {
  const notes = failed.flatMap((request) => {
    if (request.outcome === 'missing') return [];
    const found = ofAnswer(request);
    if (found === undefined) return [];
    const how = request.outcome === 'recovered' ? 'A later try succeeded' : 'The page goes on without it';
    return [`${found.message} ${how}.`];
  });
  return [...new Set(notes)].slice(0, MAX_CAUSES);
}

function unique(found: readonly Ranked[]): PageCause[] {
  const byMessage = new Map(found.map((each) => [`${each.kind} ${each.message}`, each]));
  return [...byMessage.values()].map(({ kind, message, place }) => ({ kind, message, place }));
}

const NAVIGATION: Readonly<Record<string, string>> = {
  'net::ERR_TOO_MANY_REDIRECTS': 'The page redirects endlessly',
  'net::ERR_EMPTY_RESPONSE': 'The server closed the connection without an answer',
  'net::ERR_SOCKS_CONNECTION_FAILED': "The preview's address cannot be reached from Porthole's machine",
  'net::ERR_INVALID_AUTH_CREDENTIALS': 'The page asks for a user name and a password (status 401)',
  timeout: 'The server did not answer within 12 s',
  download: 'The address is a download, not a page',
};

const INTERRUPTED: Readonly<Record<Interruption, string>> = {
  memory: 'The page used more than 512 MiB of memory and was ended',
  crash: 'The page used more than 512 MiB of memory, or crashed, and was ended',
  unresponsive: 'The page does not respond: a script blocks its main thread',
  no_answer: 'The page did not answer in time',
  time: 'The page was not complete after 15 s',
  dialogs: 'The page opens dialogs or windows endlessly',
  navigations: 'The page reloads or redirects itself endlessly',
  console_flood: 'The page prints to the console endlessly',
};

function ofNavigation(seen: PageObservation): Ranked[] {
  const { navigationError, gateway, status, interruption, failedStep, overlays, facts, redirects } = seen;
  const found: Ranked[] = [];
  if (navigationError !== null) {
    const why = NAVIGATION[navigationError] ?? `The page cannot be loaded: ${navigationError}`;
    const where = redirects.at(-1)?.url;
    const isAway = where !== undefined && /^https?:/.test(where);
    const isEndless = navigationError === 'net::ERR_TOO_MANY_REDIRECTS';
    const sentence = isAway
      ? `The page redirects to another origin, which a look does not open: ${where}.`
      : isEndless && where !== undefined
        ? `${why}, last to ${where}.`
        : `${why}.`;
    const notReached = cause(0, 'not_reached', sentence);
    // A dev server may be compiling.
    found.push(navigationError === 'timeout' ? unsure(notReached) : notReached);
  }
  if (gateway !== null) {
    found.push(cause(1, 'gateway', `Porthole shows its own page instead of the app: ${gateway}.`));
  } else if (status !== null && status >= 400 && overlays.length === 0) {
    const text = facts?.text.slice(0, 200) ?? '';
    const quoted = text === '' ? '' : `: ${text}`;
    found.push(
      cause(
        6,
        'document_status',
        `The page ${seen.url} answers ${status}${quoted}`,
        placeIn(facts?.text ?? ''),
      ),
    );
  }
  if (interruption !== null) {
    const stopped = cause(2, 'interrupted', `${INTERRUPTED[interruption]}.`);
    // The page or this machine may only be slow.
    const isLate = interruption === 'no_answer' || (interruption === 'time' && facts !== null);
    found.push(isLate ? unsure(stopped) : stopped);
  }
  if (facts === null && found.length === 0) {
    // Some pages cannot be measured, for instance for the depth of their elements.
    found.push(unsure(cause(2, 'interrupted', 'The page cannot be measured.')));
  }
  if (failedStep !== null) {
    const { step, reason, nearest } = failedStep;
    const what = step === 0 ? 'What was waited for did not appear' : `Step ${step} failed`;
    const instead = nearest.length === 0 ? '' : ` The page has: ${nearest.join(', ')}.`;
    found.push(cause(5, 'step_failed', `${what}: ${reason}.${instead}`));
  }
  return found;
}

function ofOverlays({ overlays, errors }: PageObservation): Ranked[] {
  return overlays.map(({ framework, message, place }) => {
    const words = message.replace(/^\[plugin:[^\]]+\]\s*/, '');
    const kind = HYDRATION.test(words) ? 'hydration' : 'error_overlay';
    const error = errors.find((each) => each.message.includes(words));
    return cause(3, kind, `${framework} shows an error: ${words}`, place ?? (error ? placeOf(error) : null));
  });
}

/** Errors that follow from a failed request, which is reported separately with its reason. */
const OF_REQUESTS =
  /Failed to fetch|NetworkError|Load failed|error loading dynamically imported module|Loading (?:CSS )?chunk|Network Error|is not valid JSON|Unexpected (?:token|end of)/i;
/** The sentences of React, Vue, Svelte and Angular: the word alone is also that of other things. */
const HYDRATION =
  /Hydration failed because |There was an error while hydrating|Text content (?:did|does) not match|Expected server HTML to contain|A tree hydrated but some attributes|Hydration completed but contains mismatches|Hydration (?:node|text|text content|children|class|style|attribute) mismatch|Minified React error #(?:418|419|421|422|423|425)\b|NG050\d|svelte\.dev\/e\/hydration_/;
const BEFORE_SENTENCE =
  /^(?:Uncaught |Error: |Warning: |\[Vue warn\]: |\[svelte\] |https:\/\/)*(?:hydration_\w+\s+)?$/;

/** Whether a message is a framework's own: it begins with its sentence. */
function isOfHydration(message: string): boolean {
  const at = message.search(HYDRATION);
  return at !== -1 && BEFORE_SENTENCE.test(message.slice(0, at).slice(0, 200));
}

/** What the browser refuses without a press of the person, for instance to play a sound. */
const REFUSED_BY_BROWSER = /^(?:NotAllowedError|AbortError): /;

function ofErrors({ errors, failed, facts }: PageObservation): Ranked[] {
  const isShown = facts !== null && !isPoor(facts);
  const harmful = errors.filter(({ message }) => !(isShown && REFUSED_BY_BROWSER.test(message)));
  return harmful.map((error) => {
    const { message } = error;
    if (isOfHydration(message)) return cause(7, 'hydration', message, placeOf(error));
    const lacksScript = / is not defined/.test(message) && failed.some(({ type }) => VITAL.has(type));
    const isSecond = lacksScript || (OF_REQUESTS.test(message) && failed.length > 0);
    return cause(isSecond ? 30 : 8, 'uncaught_error', `Uncaught ${message}`, placeOf(error));
  });
}

/** The app's first frame, or the first frame of a package. */
function placeOf({ frames }: PageError): SourcePlace | null {
  const own = frames.find(({ file }) => !/node_modules|\.vite\/deps|@vite\/client|^chunk-|vendor/.test(file));
  const { file, line, column } = own ?? frames[0] ?? { file: '', line: null, column: null };
  return file === '' ? null : { file, line, column };
}

/** An error of a compilation, which its overlay may hide behind others. */
const WEBPACK = /^\[webpack-dev-server\] (?:ERROR in )?\.\/(\S+?)(?: (\d+):(\d+)(?:[^\s\d]\S*)?)?\n([^]+)/;
const REFUSED_TYPE = /Failed to load module script|Refused to (?:execute|apply)/;

function ofConsole({ console }: PageObservation): Ranked[] {
  return console.flatMap(({ level, text, place, byPage }): Ranked[] => {
    if (level !== 'error' && level !== 'warning') return [];
    const compiling = WEBPACK.exec(text);
    if (compiling !== null) {
      const [, file = '', line, column, message = ''] = compiling;
      const at = {
        file,
        line: line === undefined ? null : Number(line),
        column: column === undefined ? null : Number(column) + 1,
      };
      return [cause(2.9, 'error_overlay', `webpack shows an error: ${message}`, at)];
    }
    if (isOfHydration(text)) return [cause(7, 'hydration', text, place)];
    // Other reports are the browser's: a page may print the same words.
    if (byPage) return [];
    if (REFUSED_TYPE.test(text) && text.includes('MIME type')) {
      return [cause(9.5, 'wrong_type', text, place)];
    }
    if (
      /Content Security Policy|Content-Security-Policy/.test(text) &&
      /violat|Refused|blocked/i.test(text)
    ) {
      return [cause(/report-only/i.test(text) ? 99 : 11, 'csp', text, place)].filter(({ rank }) => rank < 99);
    }
    return /^Mixed Content:.*blocked/.test(text) ? [cause(11, 'mixed_content', text, place)] : [];
  });
}

/** Resource types that a page cannot do without, and types that it loads as data. */
const VITAL = new Set(['script']);
const DATA = new Set(['fetch', 'xhr', 'eventsource', 'document']);

function ofRequests(seen: PageObservation): Ranked[] {
  // `ofNavigation` reports the document.
  const parts = seen.failed.filter(({ type }) => type !== 'document' || seen.navigationError === null);
  const shown = seen.facts !== null && !isPoor(seen.facts);
  return parts.flatMap((request) => {
    const { outcome } = request;
    const isHarmless = outcome === 'recovered' || outcome === 'harmless' || (outcome === 'caught' && shown);
    const found = isHarmless ? undefined : ofRequest(request);
    return found === undefined ? [] : [found];
  });
}

function ofRequest(request: FailedRequest): Ranked | undefined {
  const { type, reason, url, detail, initiator } = request;
  if (type === 'ping' || type === 'prefetch' || type === 'manifest') return undefined;
  switch (reason) {
    case 'visitor_machine':
      return ofVisitorMachine(url, initiator);
    case 'other_origin':
      return unsure(
        cause(
          VITAL.has(type) ? 2.5 : 40,
          'other_origin',
          `A look loads no other origin: ${url} was left out.`,
          initiator,
        ),
      );
    case 'csp':
      return cause(10, 'csp', `The page's Content-Security-Policy blocks ${url}.`, initiator);
    case 'mixed_content':
      return cause(
        10,
        'mixed_content',
        `The browser blocks ${url}: an http address on an https page.`,
        initiator,
      );
    case 'cors':
      return cause(
        10,
        'cors',
        `CORS: the answer of ${url} does not allow this page to read it (${detail}).`,
        initiator,
      );
    case 'status':
    case 'refused':
    case 'network':
    default:
      return ofAnswer(request);
  }
}

function ofVisitorMachine(url: string, initiator: SourcePlace | null): Ranked {
  const instead = 'use a relative URL, or the preview of that port';
  const sentence = `The page requests ${url}, which is the visitor's own machine and not the sandbox: ${instead}.`;
  return cause(4, 'visitor_machine', sentence, initiator);
}

/** A request without an answer, or with an error answer. */
function ofAnswer({ type, status, url, method, detail, initiator }: FailedRequest): Ranked | undefined {
  const isPage = status !== null && status < 400;
  const answered = isPage ? `answered ${status} with a page instead of data` : `answered ${status}`;
  const how = status === null ? `failed (${detail})` : answered;
  const hint = /\/(?:undefined|null|NaN)(?:[/?]|$)|^undefined/.test(url)
    ? ': a value that its URL is made from is missing (an environment variable?)'
    : '';
  if (VITAL.has(type)) return cause(9, 'script_failed', `The ${type} ${url} ${how}${hint}.`, initiator);
  if (type === 'stylesheet')
    return cause(12, 'stylesheet_failed', `The stylesheet ${url} ${how}${hint}.`, initiator);
  if (DATA.has(type)) {
    const failed = cause(13, 'request_failed', `${method} ${url} ${how}${hint}.`, initiator);
    if (status === 401 || status === 403) return undefined;
    // The app may handle it.
    return status !== null && status < 500 && !isPage && hint === '' ? unsure(failed) : failed;
  }
  if (type === 'image' || type === 'font' || type === 'media') {
    return cause(20, 'resource_failed', `The ${type} ${url} ${how}${hint}.`, initiator);
  }
  // Usually a favicon.
  return undefined;
}

function ofSockets({ sockets }: PageObservation): Ranked[] {
  return sockets
    .filter(({ isReplaced }) => !isReplaced)
    .filter(({ state, hotReload }) => state === 'refused' || (state === 'connecting' && !hotReload))
    .map(({ url, hotReload, state }) => {
      if (/^wss?:\/\/(?:localhost|127\.|\[::1\])/.test(url)) return ofVisitorMachine(url, null);
      const what = hotReload ? 'The hot-reload WebSocket' : 'The WebSocket';
      const how = state === 'refused' ? 'was refused' : 'was not answered';
      const found = cause(14, 'socket_refused', `${what} ${url} ${how}.`);
      // The server may be slow.
      return hotReload || state === 'connecting' ? unsure(found) : found;
    });
}
