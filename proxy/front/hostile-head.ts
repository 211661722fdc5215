import type { IncomingMessage } from 'node:http';

/** Why the front refuses a request: the answer, after which the connection ends. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Without its cookies the head would be served. @default false */
  readonly isOfCookies?: boolean;
}

/** The front's own codes. Each is a code of the API's error catalog, with the same status. */
export const REFUSALS = {
  invalid_request: { status: 400, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  request_timeout: { status: 408, retryable: true },
  payload_too_large: { status: 413, retryable: false },
  headers_too_large: { status: 431, retryable: false },
} as const;

/** A refusal with the status of its code. */
export function refusal(code: keyof typeof REFUSALS, message: string): Refusal {
  return { code, message, ...REFUSALS[code] };
}

/** A name, an IPv4 address or a bracketed IPv6 address, each with an optional port. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]*)|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;
/** Origin-form: visible ASCII that starts with a slash and has no fragment. */
const ORIGIN_FORM = /^\/[\x21\x22\x24-\x7e]*$/;
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
/** More headers than any browser sends; a head within the size limit could hold thousands. */
const MAX_HEADERS = 200;
/** In bytes. The parser reads more, so that an answer can name the cookies as the cause. */
const MAX_HEAD = 32 * 1024;
export const MAX_PARSED_HEAD = 128 * 1024;
const TOO_LARGE = 'The request head is too large. Send fewer or shorter headers.';

/**
 * Why a request head that Node's parser accepted must not be served; undefined if it is safe to act
 * on and to forward. Refuses every head that two HTTP implementations could parse differently
 * (request smuggling), before anything reads the path: the caller answers with the result, and
 * reads nothing more from that connection. Messages never repeat Host or target, because they may
 * contain a preview's token.
 */
export function rejectHostileHead(req: IncomingMessage): Refusal | undefined {
  const { method = '', url = '', rawHeaders, httpVersion } = req;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return refused(`HTTP/${httpVersion} is not spoken here. Use HTTP/1.1.`);
  }
  if (method === 'CONNECT' || method === 'TRACE') {
    return refused(
      `The method ${method} is not served. Use GET, POST or another ordinary method.`,
      'method_not_allowed',
    );
  }
  if (!ORIGIN_FORM.test(url) && !(url === '*' && method === 'OPTIONS')) {
    return refused('The request target must be a path such as /index.html, not a full URL or an authority.');
  }
  if (rawHeaders.length > MAX_HEADERS * 2) {
    return refused(
      `${rawHeaders.length / 2} header lines are too many. Send at most ${MAX_HEADERS}.`,
      'headers_too_large',
    );
  }
  return rejectHostileHeaders(rawHeaders, method, httpVersion) ?? rejectLargeHead(url, rawHeaders);
}

/** Last: only a head that is served otherwise may be answered with more than a refusal. */
function rejectLargeHead(url: string, rawHeaders: readonly string[]): Refusal | undefined {
  let bytes = url.length;
  let ofCookies = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const length = name.length + (rawHeaders[at + 1] as string).length;
    bytes += length;
    if (name.length === 6 && name.toLowerCase() === 'cookie') ofCookies += length;
  }
  if (bytes <= MAX_HEAD) return undefined;
  return { ...headTooLarge(), isOfCookies: bytes - ofCookies <= MAX_HEAD };
}

export function headTooLarge(): Refusal {
  return refused(TOO_LARGE, 'headers_too_large');
}

function rejectHostileHeaders(
  rawHeaders: readonly string[],
  method: string,
  version: '1.0' | '1.1',
): Refusal | undefined {
  let hosts = 0;
  let lengths = 0;
  let encodings = 0;
  let upgrades = 0;
  let isHandshake = false;
  let length = '';
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const value = rawHeaders[at + 1] as string;
    if (CONTROL.test(value))
      return refused('A header value holds a control character. Send one line per header.');
    // Only names of these lengths matter; this saves lower-casing the others.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() !== 'host') break;
        hosts += 1;
        if (!HOST.test(value)) return refused('The Host header is not a host name with an optional port.');
        break;
      case 7:
        if (name.toLowerCase() !== 'upgrade') break;
        upgrades += 1;
        // RFC 9110 section 7.8: a server may ignore an Upgrade. It is hop-by-hop, so no app sees it
        // either.
        isHandshake = value.toLowerCase() === 'websocket';
        break;
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        lengths += 1;
        length = value;
        if (!/^\d{1,15}$/.test(value)) {
          return refused(
            `Content-Length ${shown(value)} is not a number of bytes. Send decimal digits only.`,
          );
        }
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        encodings += 1;
        if (value.toLowerCase() !== 'chunked') {
          return refused(`Transfer-Encoding ${shown(value)} is not served. The only one is chunked.`);
        }
        break;
      default:
    }
  }
  if (hosts !== 1) return refused(`The request has ${hosts} Host headers. Send exactly one.`);
  if (lengths > 1 || encodings > 1 || upgrades > 1) {
    return refused('Content-Length, Transfer-Encoding and Upgrade may stand once each. Send each once.');
  }
  if (lengths + encodings > 1) {
    return refused('The request has Content-Length and Transfer-Encoding. Send one of the two.');
  }
  if (encodings > 0 && version === '1.0') {
    return refused('HTTP/1.0 knows no Transfer-Encoding. Send Content-Length, or use HTTP/1.1.');
  }
  if (isHandshake && (method !== 'GET' || version === '1.0' || encodings > 0 || Number(length) > 0)) {
    return refused('A WebSocket handshake is an HTTP/1.1 GET without a body.');
  }
  return undefined;
}

function refused(message: string, code: keyof typeof REFUSALS = 'invalid_request'): Refusal {
  return refusal(code, message);
}

function shown(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}
