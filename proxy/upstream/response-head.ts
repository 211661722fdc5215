/** Faults in an answer from a sandbox, in words for the author of the server. */
export const RESPONSE_FAULTS = {
  closed_early: 'it closed the connection before it had answered',
  head_too_large: 'its response head is larger than 64 KiB',
  not_http: 'its answer does not start with an HTTP/1.1 or HTTP/1.0 status line',
  bad_header: 'a response header is malformed',
  folded_header: 'a response header is folded over several lines',
  bare_line_feed: 'a line of its response head ends in a bare line feed',
  ambiguous_length: 'its response gives its length more than once',
  bad_length: 'its Content-Length is not a number of bytes',
  bad_transfer_encoding: 'its Transfer-Encoding is not chunked',
  bad_chunk: 'a chunk of its response is malformed',
  truncated: 'its response ended before it was complete',
  too_many_informational: 'it sent more than 16 informational responses',
  unasked_upgrade: 'it switched protocols without being asked',
  bad_upgrade: 'its WebSocket handshake is malformed',
} as const;

export type ResponseFault = keyof typeof RESPONSE_FAULTS;

/**
 * Bytes. Node's own client stops at 16 KiB; large Set-Cookie and Content-Security-Policy headers
 * exceed it.
 */
export const MAX_HEAD = 64 * 1024;

export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** Name, value, name, value … in the order sent; bytes above 0x7f as Latin-1. */
  readonly rawHeaders: readonly string[];
  /** The Connection headers, in lower case; empty if the response has none. */
  readonly connection: string;
  readonly contentLength: number | undefined;
  readonly chunked: boolean;
  /** Whether the server keeps the connection open after this response. */
  readonly keepAlive: boolean;
}

const STATUS_LINE = /HTTP\/1\.([01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n/y;
const HEADER_LINE = /([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\xff]*)\r\n/y;
const BARE_LINE_FEED = /(?:^|[^\r])\n/;

/**
 * Parses a complete response head strictly. `text` is Latin-1 and ends with the empty line. Every
 * pattern is linear in the input.
 */
export function parseResponseHead(text: string): ResponseHead | ResponseFault {
  STATUS_LINE.lastIndex = 0;
  const start = STATUS_LINE.exec(text);
  if (start === null) return headFault(text, 0);
  const http11 = start[1] === '1';
  const status = Number(start[2]);
  const rawHeaders: string[] = [];
  let connection = '';
  let contentLength: number | undefined;
  let chunked = false;
  let at = start[0].length;
  const end = text.length - 2;
  while (at < end) {
    HEADER_LINE.lastIndex = at;
    const line = HEADER_LINE.exec(text);
    if (line === null) return headFault(text, at);
    at += line[0].length;
    const name = line[1] as string;
    const value = trimSpace(line[2] as string);
    rawHeaders.push(name, value);
    switch (name.length) {
      case 10:
        if (name.toLowerCase() === 'connection') connection += `,${value.toLowerCase()}`;
        break;
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (contentLength !== undefined || chunked) return 'ambiguous_length';
        if (!/^\d{1,15}$/.test(value)) return 'bad_length';
        contentLength = Number(value);
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        if (contentLength !== undefined || chunked) return 'ambiguous_length';
        if (!http11 || value.toLowerCase() !== 'chunked') return 'bad_transfer_encoding';
        chunked = true;
        break;
      default:
    }
  }
  const keepAlive = http11
    ? !namesOption(connection, 'close')
    : namesOption(connection, 'keep-alive') && !namesOption(connection, 'close');
  return { status, reason: start[3] ?? '', rawHeaders, connection, contentLength, chunked, keepAlive };
}

/** Whether the first bytes of an answer may be the start of a status line. */
export function mayStartResponse(text: string): boolean {
  return 'HTTP/1.'.startsWith(text.slice(0, 7));
}

/** Whether a Connection value (lower case) lists this option. */
export function namesOption(connection: string, option: string): boolean {
  return connection !== '' && connection.split(',').some((listed) => listed.trim() === option);
}

/**
 * Names the fault at `at`. The result does not depend on how much of the head has been received.
 */
function headFault(text: string, at: number): ResponseFault {
  if (!mayStartResponse(text)) return 'not_http';
  if (BARE_LINE_FEED.test(text)) return 'bare_line_feed';
  if (at === 0) return 'not_http';
  return isSpace(text.charCodeAt(at)) ? 'folded_header' : 'bad_header';
}

/** Without optional white space around it (only spaces and tabs: 0xa0 is part of the value). */
function trimSpace(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value.charCodeAt(start))) start += 1;
  while (end > start && isSpace(value.charCodeAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** The reason phrase of an HTTP status; empty for statuses unknown to Node. */
export function reasonPhrase(status: number): string {
  // Not imported: the names of `node:http` load its whole WebSocket client.
  return process.getBuiltinModule('node:http').STATUS_CODES[status] ?? '';
}
