/**
 * Rewrites the headers of a preview: the app sees a browser on `http://localhost:{port}`, the
 * browser sees the preview's own origin. No I/O: the local gateway uses it, and so does the guest
 * inside a pod.
 */
import { siblingPrefix } from './own-path.ts';
import type { Siblings } from './siblings.ts';
import type { ResponseHead } from './upstream/response-head.ts';

export type Scheme = 'http' | 'https';

/** A preview as its visitor sees it. */
export interface PreviewView {
  readonly scheme: Scheme;
  /** The Host header of the request. */
  readonly host: string;
  /** The app's port inside the sandbox. */
  readonly targetPort: number;
  readonly siblings: Siblings;
  /**
   * Of a sibling that is reached below this host.
   * @default - the app has the host to itself
   */
  readonly below?: PathBelow | undefined;
}

/** Where on a preview's host the app of a sibling is. */
export interface PathBelow {
  /** `/.porthole/{port}` */
  readonly prefix: string;
  /** The path and query that the app gets. */
  readonly url: string;
  /** The port of the app that has the host. */
  readonly pagePort: number;
}

/**
 * The part of a request that the rewriting reads; an `IncomingMessage` fits. The strict front has
 * accepted its head.
 */
export interface ReceivedHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly headers: Readonly<
    Partial<Record<'origin' | 'connection' | 'transfer-encoding' | 'content-length', string | undefined>>
  >;
}

/**
 * `localPort`: send `http://localhost:{localPort}` instead. `refuse`: do not send the request to
 * the app.
 */
export type OriginDecision = 'keep' | 'refuse' | { readonly localPort: number };

/** The decisions about Origin and framing of one request. */
export interface RequestRewrite {
  readonly origin: OriginDecision;
  /** Request a WebSocket. */
  readonly upgrade: boolean;
  /** Request a body without Content-Encoding, because it is rewritten. */
  readonly plain: boolean;
  /** Address of the client, for X-Forwarded-For. */
  readonly client: string;
  /** Replace those of the visitor. */
  readonly trace?: Readonly<Record<string, string | undefined>> | undefined;
  /** Who visits, for X-Porthole-Viewer. */
  readonly viewer?: string | undefined;
}

/** How the body of a request is framed. */
export type BodyFraming = 'none' | 'chunked' | number;

/** For one hop alone (RFC 9110 section 7.6.1), in requests and in responses. */
export const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;

/** In which clients of E2B send the traffic token of a sandbox. */
export const TRAFFIC_HEADER = 'e2b-traffic-access-token';

/** Connection-specific headers, and those that only a gateway may set. */
const REQUEST_ENDS_HERE: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'content-length',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  // CGI programs read this one as the address of an HTTP proxy (CVE-2016-5385).
  'proxy',
  'proxy-authorization',
  'x-real-ip',
  TRAFFIC_HEADER,
]);

/** W3C Trace Context. */
const TRACE_HEADERS: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

const RESPONSE_ENDS_HERE: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  // Its "cookies" covers the whole registrable domain: a preview could sign users out of the rest
  // of it.
  'clear-site-data',
  'content-length',
  'referrer-policy',
  'x-robots-tag',
]);

/**
 * The console's own cookies. Browsers scope cookies by host and not by port, so an app on another
 * port of that host receives them.
 */
const OWN_COOKIE = /^(?:__Host-)?porthole-(?:session|sign-in|view|pass)=/;
/** Names of the local machine. */
const LOCAL_NAME = /^(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])$/i;
const ABSOLUTE_URL = /^(?:https?:)?\/\/([^/?#@\\]+?)(?::(\d{1,5}))?(?=[/?#]|$)/i;
const DOMAIN_ATTRIBUTE = /;[ \t]*domain[ \t]*(?:=|;|$)/i;

/**
 * Headers of a response that no shared cache may keep: a cache would show it to everyone (RFC 9111
 * section 5.2.2.7, RFC 9213).
 */
export function privateHeaders(headers: readonly string[]): string[] {
  const kept: string[] = [];
  let isPrivate = false;
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]];
    const lower = name.toLowerCase();
    if (lower === 'surrogate-control' || lower.endsWith('cdn-cache-control')) continue;
    if (lower !== 'cache-control') kept.push(name, value);
    else {
      const directives = value.split(',').filter((each) => !/^\s*(?:public|s-maxage|private)\b/i.test(each));
      isPrivate = true;
      kept.push(name, ['private', ...directives.map((each) => each.trim())].join(', '));
    }
  }
  return isPrivate ? kept : [...kept, 'Cache-Control', 'private'];
}

/** The origin of this Host in a browser. */
export function originOf({ scheme, host }: Pick<PreviewView, 'scheme' | 'host'>): string {
  return `${scheme}://${host.toLowerCase()}`;
}

/** `:8787`, or the empty string. */
function portOf(host: string): string {
  return /:\d+$/.exec(host)?.[0] ?? '';
}

/**
 * Rewrites the preview's own Origin, because frameworks compare Origin with Host (CSRF) and answer
 * 403 if they differ, and that of a sibling, as it is on localhost: apps allow each other by port.
 * WebSockets have no CORS, and dev servers refuse every foreign Origin under `/_next/`: there any
 * other Origin is refused. Elsewhere it stays, for the app's own CORS. The path is compared as
 * sent.
 */
export function decideOrigin(
  { url = '', headers: { origin } }: Pick<ReceivedHead, 'url' | 'headers'>,
  view: PreviewView,
  isUpgrade: boolean,
): OriginDecision {
  if (origin === undefined) return 'keep';
  if (origin === originOf(view)) return { localPort: view.targetPort };
  const localPort = siblingPort(origin, view);
  if (localPort !== undefined) return { localPort };
  return isUpgrade || url.startsWith('/_next/') ? 'refuse' : 'keep';
}

/** The app's port behind the public origin of a sibling. */
export function siblingPort(
  origin: string,
  { scheme, host: ownHost, siblings }: PreviewView,
): number | undefined {
  const prefix = `${scheme}://`;
  if (!origin.startsWith(prefix)) return undefined;
  const host = origin.slice(prefix.length);
  const port = portOf(host);
  return port === portOf(ownHost) ? siblings.portOf(host.slice(0, host.length - port.length)) : undefined;
}

export function bodyFraming({ headers }: Pick<ReceivedHead, 'headers'>): BodyFraming {
  if (headers['transfer-encoding'] !== undefined) return 'chunked';
  const length = headers['content-length'];
  return length === undefined ? 'none' : Number(length);
}

/**
 * The request head for the app (Latin-1). Framing and `X-Forwarded-*` are generated, never copied.
 * A request with a rewritten Origin contains no header that names the public origin: apps that
 * trust `X-Forwarded-Host` or `-Proto` would compare it with the Origin and refuse.
 */
export function requestHead(req: ReceivedHead, view: PreviewView, rewrite: RequestRewrite): string {
  const { scheme, host, targetPort, below } = view;
  const { rawHeaders } = req;
  const dropped = namedInConnection(req.headers.connection);
  const publicOrigin = originOf(view);
  const localOrigin = `http://localhost:${below?.pagePort ?? targetPort}`;
  const sentOrigin = typeof rewrite.origin === 'object' && `http://localhost:${rewrite.origin.localPort}`;
  const isLocal = sentOrigin !== false;
  let head = `${req.method} ${below?.url ?? req.url} HTTP/1.1\r\nHost: localhost:${targetPort}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const lower = name.toLowerCase();
    if (!requestHeaderPasses(lower) || dropped?.has(lower)) continue;
    if (rewrite.trace !== undefined && TRACE_HEADERS.has(lower)) continue;
    const sent = rawHeaders[at + 1] as string;
    let value: string | undefined = sent;
    if (lower === 'origin' && isLocal) value = sentOrigin;
    else if (lower === 'referer') value = localReferer(sent, publicOrigin, localOrigin, view);
    else if (lower === 'cookie') value = withoutOwnCookies(sent);
    else if (lower === 'accept-encoding' && rewrite.plain) value = 'identity';
    if (value !== undefined) head += `${name}: ${value}\r\n`;
  }
  if (rewrite.upgrade) head += 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  else {
    const framing = bodyFraming(req);
    if (framing === 'chunked') head += 'Transfer-Encoding: chunked\r\n';
    else if (framing !== 'none') head += `Content-Length: ${framing}\r\n`;
  }
  if (!isLocal) {
    const port = portOf(host).slice(1) || (scheme === 'https' ? '443' : '80');
    head += `X-Forwarded-Host: ${host}\r\nX-Forwarded-Port: ${port}\r\n`;
  }
  if (!isLocal || scheme === 'http') head += `X-Forwarded-Proto: ${scheme}\r\n`;
  for (const [name, value] of Object.entries(rewrite.trace ?? {})) head += `${name}: ${value}\r\n`;
  if (rewrite.viewer !== undefined) head += `X-Porthole-Viewer: ${rewrite.viewer}\r\n`;
  return `${head}X-Forwarded-For: ${rewrite.client}\r\n\r\n`;
}

/**
 * The app's response headers for the client: name, value, name, value … Removes `Domain=` from
 * cookies, rewrites URLs of the app's own address and of its siblings', and sets the headers that
 * keep the URL secret. Leaves out framing except Content-Length: the writer of the response decides
 * it.
 * @param frameAncestors origins that may show the app in a frame even if the app forbids frames:
 * the console's
 * @param isLimited it is not open to everyone: no other page shows it in a frame (clickjacking),
 * unless the app itself says who may
 */
export function responseHeaders(
  head: ResponseHead,
  view: PreviewView,
  frameAncestors: readonly string[],
  isLimited = false,
): string[] {
  const out: string[] = [];
  const dropped = namedInConnection(head.connection.slice(1));
  const { rawHeaders } = head;
  const frameOptions: string[] = [];
  let limitsFrames = false;
  let saysWho = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const value = rawHeaders[at + 1] as string;
    const lower = name.toLowerCase();
    if (!responseHeaderPasses(lower) || dropped?.has(lower)) continue;
    if (lower === 'set-cookie') {
      if (!OWN_COOKIE.test(value.trimStart())) out.push(name, belowPath(withoutDomain(value), view));
    } else if (lower === 'location' || lower === 'access-control-allow-origin') {
      out.push(name, publicUrl(value, view));
    } else if (lower === 'refresh') out.push(name, publicRefresh(value, view));
    else if (lower === 'x-frame-options') frameOptions.push(value);
    else if (lower === 'content-security-policy') {
      const policies = withFrameAncestors(value, frameAncestors);
      limitsFrames ||= policies.limitsFrames;
      saysWho ||= /frame-ancestors/i.test(value);
      out.push(name, policies.value);
    } else out.push(name, value);
  }
  // Browsers ignore X-Frame-Options next to frame-ancestors (CSP 3 section 6.4.2.2), and it cannot
  // name the console.
  if (frameOptions.length > 0 && !limitsFrames) out.push(...framing(frameOptions, frameAncestors));
  else if (isLimited && frameOptions.length === 0 && !saysWho) {
    out.push('Content-Security-Policy', ["frame-ancestors 'self'", ...frameAncestors].join(' '));
  }
  if (head.contentLength !== undefined && head.status !== 204) {
    out.push('Content-Length', String(head.contentLength));
  }
  // Not `no-referrer`: browsers would send `Origin: null` with forms, and frameworks refuse it.
  out.push('Referrer-Policy', 'same-origin', 'X-Robots-Tag', 'noindex, nofollow');
  return out;
}

/**
 * A Set-Cookie value without its Domain: a preview sets cookies only for its own host, never for
 * the zone.
 */
export function withoutDomain(cookie: string): string {
  if (!DOMAIN_ATTRIBUTE.test(cookie)) return cookie;
  const [pair = '', ...attributes] = cookie.split(';');
  return [pair, ...attributes.filter((attribute) => !/^\s*domain\s*(?:=|$)/i.test(attribute))].join(';');
}

/** A Set-Cookie value for the path of a sibling. On `/` both apps share it, as on localhost. */
function belowPath(cookie: string, { below }: PreviewView): string {
  if (below === undefined) return cookie;
  return cookie.replace(/(;\s*path\s*=\s*)(?=\/[^;\s])/i, (before) => before + below.prefix);
}

/**
 * Rewrites a URL of the app's own address (`http://localhost:3000/x`), or of the preview's host
 * under another scheme or port, to the preview's own origin, and a URL of a sibling's local address
 * to the origin of its preview.
 */
export function publicUrl(url: string, view: PreviewView): string {
  const [prefix, name = '', port] = ABSOLUTE_URL.exec(url) ?? [];
  if (prefix === undefined) {
    return view.below !== undefined && /^\/(?!\/)/.test(url) ? view.below.prefix + url : url;
  }
  const isPreview = name.toLowerCase() === view.host.toLowerCase().replace(/:\d+$/, '');
  const isBelow =
    isPreview && view.below !== undefined && !url.startsWith(`${view.below.prefix}/`, prefix.length);
  const origin = isPreview
    ? originOf(view) + (isBelow ? view.below?.prefix : '')
    : LOCAL_NAME.test(name) && publicOrigin(Number(port), view);
  return typeof origin === 'string' ? origin + url.slice(prefix.length) : url;
}

/** The origin of the preview of an app's port, its own or a sibling's. */
function publicOrigin(port: number, view: PreviewView): string | undefined {
  const { targetPort, below } = view;
  if (port === (below?.pagePort ?? targetPort)) return originOf(view);
  const hostname = view.siblings.hostOf(port);
  if (hostname !== undefined && below !== undefined) return originOf(view) + siblingPrefix(port);
  return hostname && originOf({ scheme: view.scheme, host: hostname + portOf(view.host) });
}

/**
 * `5; url=http://localhost:3000/x`: the same for the URL of a Refresh header, which may be quoted.
 */
function publicRefresh(value: string, view: PreviewView): string {
  return value.replace(
    /^([ \t]*[\d.]*[ \t]*[;,]?[ \t]*(?:url[ \t]*=[ \t]*)?["']?)([^"']*)/i,
    (_, before: string, url: string) => before + publicUrl(url, view),
  );
}

/**
 * Adds the ancestors to each `frame-ancestors` of a Content-Security-Policy value: a page must
 * satisfy every policy.
 */
export function withFrameAncestors(
  value: string,
  ancestors: readonly string[],
): { readonly value: string; readonly limitsFrames: boolean } {
  if (ancestors.length === 0 || !/frame-ancestors/i.test(value)) return { value, limitsFrames: false };
  let limitsFrames = false;
  const policies = value.split(',').map((policy) => {
    const directives = policy.split(';');
    // Browsers use the first directive of a name.
    const at = directives.findIndex((each) => /^\s*frame-ancestors(?=\s|$)/i.test(each));
    if (at < 0) return policy;
    limitsFrames = true;
    const [name = '', ...sources] = (directives[at] as string).trim().split(/\s+/);
    const allowed = sources.filter((source) => source.toLowerCase() !== "'none'");
    directives[at] = `${at === 0 ? '' : ' '}${[name, ...allowed, ...ancestors].join(' ')}`;
    return directives.join(';');
  });
  return { value: policies.join(','), limitsFrames };
}

/**
 * X-Frame-Options as `frame-ancestors` with the ancestors added; unchanged if browsers do not
 * understand it.
 */
function framing(options: readonly string[], ancestors: readonly string[]): string[] {
  const unchanged = options.flatMap((value) => ['X-Frame-Options', value]);
  if (ancestors.length === 0) return unchanged;
  const values = options.flatMap((value) => value.split(',')).map((value) => value.trim().toLowerCase());
  const isSame = values.every((value) => value === 'sameorigin');
  if (!isSame && !values.includes('deny')) return unchanged;
  return [
    'Content-Security-Policy',
    ['frame-ancestors', ...(isSame ? ["'self'"] : []), ...ancestors].join(' '),
  ];
}

function localReferer(
  referer: string,
  publicOrigin: string,
  localOrigin: string,
  { below, targetPort }: PreviewView,
): string {
  if (below !== undefined && referer.startsWith(`${publicOrigin}${below.prefix}/`))
    return `http://localhost:${targetPort}${referer.slice(publicOrigin.length + below.prefix.length)}`;
  const isOwn = referer === publicOrigin || referer.startsWith(`${publicOrigin}/`);
  return isOwn ? localOrigin + referer.slice(publicOrigin.length) : referer;
}

/** A Cookie value without the console's cookies; undefined when nothing is left. */
function withoutOwnCookies(value: string): string | undefined {
  if (!value.includes('porthole-')) return value;
  const kept = value.split(';').filter((cookie) => !OWN_COOKIE.test(cookie.trim()));
  const rest = kept.join(';').trim();
  return rest === '' ? undefined : rest;
}

/** Whether a request header (lower case) is forwarded to the app. */
function requestHeaderPasses(lowerName: string): boolean {
  // CGI and WSGI treat `_` and `-` alike: `X_Forwarded_Host` would be taken for the real one.
  const name = lowerName.includes('_') ? lowerName.replaceAll('_', '-') : lowerName;
  return !REQUEST_ENDS_HERE.has(name) && !name.startsWith('x-forwarded-') && !name.startsWith('x-porthole-');
}

/** Whether a response header (lower case) is forwarded to the client. */
function responseHeaderPasses(lowerName: string): boolean {
  return !RESPONSE_ENDS_HERE.has(lowerName) && !lowerName.startsWith('x-porthole-');
}

/**
 * The headers (lower case) that a Connection value declares as hop-by-hop; undefined if it declares
 * none.
 */
function namedInConnection(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === '') return undefined;
  const lower = connection.toLowerCase();
  if (lower === 'keep-alive' || lower === 'close') return undefined;
  return new Set(lower.split(',').map((name) => name.trim()));
}
