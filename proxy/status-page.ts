/** Why the gateway itself answers a preview's URL instead of the app. */
export type PreviewStatus =
  | 'nothing_listens'
  | 'sandbox_stopped'
  | 'starting'
  | 'unreachable'
  | 'bad_response'
  | 'busy'
  | 'foreign_origin'
  | 'bad_handshake'
  | 'cookies_too_large'
  | 'expired'
  | 'stopped'
  | 'orphaned'
  | 'too_many_requests'
  | 'access_required'
  | 'bad_ticket'
  | 'not_open'
  /** Asked for: how to report the preview. */
  | 'report'
  | 'unknown';

export interface StatusPageContext {
  /** The port that the preview leads to. */
  readonly targetPort?: number | undefined;
  /** What was wrong with the app's answer, as the end of a sentence; for `bad_response`. */
  readonly detail?: string | undefined;
  /** When the client may retry; for `too_many_requests`. */
  readonly retryAfterSeconds?: number | undefined;
  /** The address of the preview; for `report`. */
  readonly host?: string | undefined;
  /** The mail address or the page of the operator; for `report`. */
  readonly contact?: string | undefined;
}

export interface StatusPage {
  readonly statusCode: number;
  /** Without Content-Type and Content-Length, which depend on the variant. */
  readonly headers: Readonly<Record<string, string>>;
  readonly html: string;
  /** `{error, code}`; the code is the status. */
  readonly json: string;
}

/** Refresh interval, in seconds, of a page for a state that may pass by itself. */
const REFRESH_SECONDS = 2;

interface Wording {
  readonly statusCode: number;
  /** Whether waiting may help: the page then refreshes by itself. */
  readonly mayPass: boolean;
  readonly title: string;
  readonly why: string;
  readonly remedy: string;
  readonly link?: { readonly url: string; readonly text: string };
}

/** The page for one status: all decided here, no part of a token in it, every value escaped. */
export function statusPage(status: PreviewStatus, context: StatusPageContext = {}): StatusPage {
  const wording = word(status, context);
  const headers: Record<string, string> = {
    'Cache-Control': 'no-store',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    'Referrer-Policy': 'no-referrer',
    Vary: 'Accept',
    'X-Content-Type-Options': 'nosniff',
    'X-Porthole-Status': status,
    'X-Robots-Tag': 'noindex, nofollow',
  };
  // Also those of siblings: they may have set the ones that are too large, for the whole domain.
  if (status === 'cookies_too_large') headers['Clear-Site-Data'] = '"cookies"';
  if (wording.mayPass) headers['Retry-After'] = String(REFRESH_SECONDS);
  if (context.retryAfterSeconds !== undefined) headers['Retry-After'] = String(context.retryAfterSeconds);
  return {
    statusCode: wording.statusCode,
    headers,
    html: html(wording),
    json: `${JSON.stringify({ error: `${wording.title}. ${wording.why} ${wording.remedy}`, code: status })}\n`,
  };
}

/** The variant for this Accept header: HTML for browsers, JSON for all other clients. */
export function statusPageBody(page: StatusPage, accept: string | undefined): { type: string; body: string } {
  return prefersHtml(accept)
    ? { type: 'text/html; charset=utf-8', body: page.html }
    : { type: 'application/json; charset=utf-8', body: page.json };
}

function prefersHtml(accept: string | undefined): boolean {
  const types = (accept ?? '').toLowerCase().split(',');
  const ranked = types.map((type) => type.split(';', 1)[0]?.trim());
  const at = ranked.findIndex((type) => type === 'text/html' || type === 'application/xhtml+xml');
  const json = ranked.indexOf('application/json');
  return at >= 0 && (json < 0 || at < json);
}

function word(status: PreviewStatus, context: StatusPageContext): Wording {
  const { targetPort, detail, host = 'of this page', contact } = context;
  const port = targetPort === undefined ? 'the preview’s port' : `port ${targetPort}`;
  switch (status) {
    case 'nothing_listens':
      return {
        statusCode: 502,
        mayPass: true,
        title: `Nothing listens on ${port} yet`,
        why: 'The sandbox is running, but no server in it has opened this port.',
        remedy: `Start the server in the sandbox on ${port}; 127.0.0.1 is enough.`,
      };
    case 'sandbox_stopped':
      return {
        statusCode: 503,
        mayPass: true,
        title: 'The sandbox is not running',
        why: 'Its files are kept, but its servers have ended.',
        remedy: `Resume the sandbox and start the server on ${port} again.`,
      };
    case 'starting':
      return {
        statusCode: 503,
        mayPass: true,
        title: 'The preview is starting',
        why: 'The way to the sandbox is still being set up.',
        remedy: 'Wait a moment.',
      };
    case 'unreachable':
      return {
        statusCode: 502,
        mayPass: true,
        title: 'The sandbox cannot be reached',
        why: 'The connection to it failed or took too long.',
        remedy: 'Wait a moment; if it stays like this, stop and resume the sandbox.',
      };
    case 'bad_response':
      return {
        statusCode: 502,
        mayPass: true,
        title: `The server on ${port} did not answer properly`,
        why: `Its answer could not be passed on: ${detail ?? 'it is not valid HTTP/1.1'}.`,
        remedy: 'Look at the server’s own log.',
      };
    case 'busy':
      return {
        statusCode: 503,
        mayPass: true,
        title: 'Too many connections to this preview',
        why: 'All the connections that one preview may have are in use.',
        remedy: 'Close some tabs or clients, then try again.',
      };
    case 'foreign_origin':
      return {
        statusCode: 403,
        mayPass: false,
        title: 'Another site may not use this preview',
        why: 'The request’s Origin is neither this preview nor another preview of its run.',
        remedy: 'Open the preview’s own URL.',
      };
    case 'bad_handshake':
      return {
        statusCode: 400,
        mayPass: false,
        title: 'This is not a WebSocket handshake',
        why: 'Its Sec-WebSocket-Key is missing or is not 16 bytes in base64.',
        remedy: 'Open the WebSocket with a browser or a WebSocket library.',
      };
    case 'cookies_too_large':
      return {
        statusCode: 431,
        mayPass: false,
        title: 'This browser sends too many cookies',
        why: 'The app, or another one of the same domain, has set more than 32 KiB of cookies.',
        remedy: 'They are being removed: reload the page. A program must send fewer cookies.',
      };
    case 'expired':
      return {
        statusCode: 410,
        mayPass: false,
        title: 'This preview has expired',
        why: 'It was idle for too long, or it reached its maximum lifetime.',
        remedy: 'Start a preview of the same port again: its URL will be the same.',
      };
    case 'stopped':
      return {
        statusCode: 410,
        mayPass: false,
        title: 'This preview was stopped',
        why: 'Its owner has ended it, and its URL will not come back.',
        remedy: 'Start a new preview to get a new URL.',
      };
    case 'orphaned':
      return {
        statusCode: 410,
        mayPass: false,
        title: 'This preview’s sandbox is gone',
        why: 'The sandbox that served it was deleted, or its run has ended.',
        remedy: 'Start a new run with a preview.',
      };
    case 'too_many_requests':
      return {
        statusCode: 429,
        mayPass: false,
        title: 'Too many unknown previews',
        why: 'This address asked for many preview URLs that do not exist.',
        remedy: 'Wait a minute, then open the URL again. Live previews open meanwhile.',
      };
    case 'access_required':
      return {
        statusCode: 401,
        mayPass: false,
        title: 'This preview is not open to everyone',
        why: 'Its owner decides who may open it.',
        remedy: 'Open its URL in a browser and sign in, or ask its owner for a link.',
      };
    case 'bad_ticket':
      return {
        statusCode: 403,
        mayPass: false,
        title: 'This way in is not valid',
        why: 'It was used before, it has ended, or it belongs to another preview.',
        remedy: 'Open the preview’s URL or its link again, or ask its owner for a new link.',
      };
    // The same for a port without a preview: what is not open to a visitor does not show itself.
    case 'not_open':
      return {
        statusCode: 404,
        mayPass: false,
        title: `${targetPort === undefined ? 'This port' : `Port ${targetPort}`} is not open here`,
        why: 'The run has no preview of this port, or not one that you may open.',
        remedy: 'Start a preview of the port, with the same access.',
      };
    case 'report':
      return {
        statusCode: 200,
        mayPass: false,
        title: 'Report this preview',
        why: 'It is an app under development. A user runs it, and the operator of this server did not write it. Do not enter passwords or card numbers unless you know who sent you here.',
        remedy: `To report it, write to ${contact ?? 'the operator of this domain'} and name the address ${host}.`,
        ...(contact !== undefined && { link: linkTo(contact, host) }),
      };
    case 'unknown':
      return {
        statusCode: 404,
        mayPass: false,
        title: 'There is no such preview',
        why: 'The URL is mistyped, or its preview ended some time ago.',
        remedy: 'Ask for a new preview URL.',
      };
    default:
      return status satisfies never;
  }
}

/** The contact is an address of mail or of a page, as the settings require. */
function linkTo(contact: string, host: string): { readonly url: string; readonly text: string } {
  if (contact.startsWith('https://')) return { url: contact, text: contact };
  return { url: `mailto:${contact}?subject=${encodeURIComponent(`Report of ${host}`)}`, text: contact };
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2330;--soft:#5b6474;--paper:#f6f7f9;--card:#fff;--line:#e2e5ea;--mark:#b45309}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a2abb9;--paper:#12151b;--card:#1a1f27;--line:#2b323d;--mark:#f5b454}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
main{width:100%;max-width:34rem;padding:2rem 1.75rem;background:var(--card);border:1px solid var(--line);border-radius:.75rem;overflow-wrap:anywhere}
small{color:var(--mark);font-weight:600;letter-spacing:.02em}
h1{margin:.35rem 0 .75rem;font-size:1.4rem;line-height:1.25}
p{margin:.5rem 0}
.soft{margin-top:1.5rem;color:var(--soft);font-size:.875rem}
`;

function html(wording: Wording): string {
  const refresh = wording.mayPass ? `<meta http-equiv="refresh" content="${REFRESH_SECONDS}">\n` : '';
  const looks = wording.mayPass
    ? `<p class="soft" role="status">This page looks again every ${REFRESH_SECONDS} seconds.</p>\n`
    : '';
  const link =
    wording.link === undefined
      ? ''
      : `<p><a href="${escape(wording.link.url)}">${escape(wording.link.text)}</a></p>\n`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
${refresh}<title>${escape(wording.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<small>Preview · ${wording.statusCode}</small>
<h1>${escape(wording.title)}</h1>
<p>${escape(wording.why)}</p>
<p>${escape(wording.remedy)}</p>
${link}${looks}</main>
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replace(
    /[&<>"']/g,
    (character) =>
      ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[character] as string,
  );
}
