import type { IncomingMessage } from 'node:http';
import type { ResponseHead } from '../upstream/response-head.ts';

/** What may come before the first script of a page; Latin-1, so with the bytes of a UTF-8 BOM. */
const PROLOGUE =
  /^\xef?\xbb?\xbf?(?:\s+|<!--[^]*?-->|<!doctype[^>]*>|<\?[^>]*>|<html(?:\s[^>]*)?>|<head(?:\s[^>]*)?>)*/i;
/** Longest prologue, in bytes; after it the page stays as it is. */
const MAX_PROLOGUE = 16 * 1024;
/** A tag or a comment that may go on in the next bytes. */
const UNFINISHED = /^(?:<(?:!(?:-(?:-[^]*)?)?)?|<!--[^]*|<[!?a-z][^>]*)$/i;

/** Inserts an element at the start of a page's head, streaming: holds back what is before it. */
export class ElementInsertion {
  readonly #element: string;
  #held: Buffer | undefined = Buffer.alloc(0);

  constructor(element: string) {
    this.#element = element;
  }

  /** Returns the bytes that may be sent. */
  push(part: Buffer): Buffer {
    if (this.#held === undefined) return part;
    this.#held = Buffer.concat([this.#held, part]);
    return this.#insert(false);
  }

  /** Returns the last bytes, including those held back. */
  finish(last: Buffer = Buffer.alloc(0)): Buffer {
    if (this.#held === undefined) return last;
    this.#held = Buffer.concat([this.#held, last]);
    return this.#insert(true);
  }

  #insert(isLast: boolean): Buffer {
    const bytes = this.#held ?? Buffer.alloc(0);
    const text = bytes.toString('latin1', 0, MAX_PROLOGUE);
    const [prologue = ''] = PROLOGUE.exec(text) ?? [];
    const rest = text.slice(prologue.length);
    const isOpen = rest === '' || UNFINISHED.test(rest);
    if (isOpen && !isLast && bytes.length < MAX_PROLOGUE) return Buffer.alloc(0);
    this.#held = undefined;
    // Too long a prologue, and UTF-16, which begins with a byte of no tag and no text.
    if (isOpen && bytes.length >= MAX_PROLOGUE) return bytes;
    if (bytes[0] === 0xfe || bytes[0] === 0xff || bytes[0] === 0) return bytes;
    const at = prologue.length;
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(this.#element), bytes.subarray(at)]);
  }
}

/** Whether a request is for a page in a tab or a frame. Browsers that use HTTPS say so. */
export function asksForPage({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (method !== 'GET' && method !== 'POST') return false;
  const mode = headers['sec-fetch-mode'];
  return mode === undefined ? (headers.accept ?? '').includes('text/html') : mode === 'navigate';
}

/** Whether a response is a whole page without encoding. */
export function isPlainPage({ status, rawHeaders }: Pick<ResponseHead, 'status' | 'rawHeaders'>): boolean {
  if (status === 204 || status === 206 || status === 304) return false;
  let isPage = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase();
    const value = rawHeaders[at + 1]?.toLowerCase() ?? '';
    if (name === 'content-encoding' && value !== 'identity') return false;
    if (name === 'content-type') isPage = value.startsWith('text/html') && !value.includes('utf-16');
  }
  return isPage;
}

/** The values of Content-Security-Policy. */
export function policiesOf({ rawHeaders }: Pick<ResponseHead, 'rawHeaders'>): string[] {
  return rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'content-security-policy',
  );
}
