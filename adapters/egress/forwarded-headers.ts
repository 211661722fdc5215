import type { IncomingMessage } from 'node:http';
import { READING } from '#core/network/network-policy.ts';
import { bodyFraming, HOP_BY_HOP } from '#proxy/preview-headers.ts';

/** Written anew, or for this proxy only. */
const NOT_IN_REQUESTS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'proxy-authorization',
]);

const NOT_IN_ANSWERS: ReadonlySet<string> = new Set(HOP_BY_HOP);

export type Headers = Readonly<Record<string, string[]>>;

/**
 * Many servers take the method from these. A request that reads would become one that writes,
 * past a rule about methods.
 */
const NOT_IN_READS: ReadonlySet<string> = new Set([
  ...NOT_IN_REQUESTS,
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
]);

/** The end-to-end headers of a request, without Host and framing. */
export function requestHeaders(request: IncomingMessage): Headers {
  return endToEnd(request, READING.includes(request.method ?? '') ? NOT_IN_READS : NOT_IN_REQUESTS);
}

/** The end-to-end headers of an answer. */
export function answerHeaders(answer: IncomingMessage): Headers {
  return endToEnd(answer, NOT_IN_ANSWERS);
}

function endToEnd({ headersDistinct, headers }: IncomingMessage, dropped: ReadonlySet<string>): Headers {
  const named = (headers.connection ?? '').split(',').map((each) => each.trim().toLowerCase());
  const all = Object.entries(headersDistinct).filter(
    (each): each is [string, string[]] => each[1] !== undefined,
  );
  return Object.fromEntries(all.filter(([name]) => !dropped.has(name) && !named.includes(name)));
}

/**
 * Framing is generated, never left out: without it Node sends the body of a GET bare, and the host
 * reads that as the next request (request smuggling, RFC 9112 §11.2).
 */
export function framingHeaders(request: IncomingMessage): Record<string, string> {
  const framing = bodyFraming(request);
  if (framing === 'none') return {};
  return framing === 'chunked' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(framing) };
}
