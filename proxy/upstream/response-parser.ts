import { ChunkedDecoder } from './chunked-decoder.ts';
import {
  type ResponseFault,
  MAX_HEAD,
  mayStartResponse,
  parseResponseHead,
  type ResponseHead,
} from './response-head.ts';

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const MAX_INFORMATIONAL = 16;

const HEAD = 0;
const LENGTH = 1;
const CHUNKED = 2;
const UNTIL_CLOSE = 3;
const OVER = 4;

/**
 * The events of one response, in this order: informational*, then head, body*, end — or upgraded —
 * or fault at any point.
 */
export interface ResponseEvents {
  informational(head: ResponseHead): void;
  head(head: ResponseHead): void;
  body(part: Buffer): void;
  /**
   * The response is complete. `last`: its last bytes. `reusable`: the connection may carry another
   * request.
   */
  end(last: Buffer | undefined, reusable: boolean): void;
  /** Status 101, only if it was requested; `rest` contains the bytes after the head. */
  upgraded(head: ResponseHead, rest: Buffer): void;
  /** No later byte can be trusted; the connection must be destroyed. */
  fault(fault: ResponseFault): void;
}

/**
 * Parses one HTTP/1 response at a time from a peer that may be hostile. Memory is limited to one
 * head.
 */
export class ResponseParser {
  #events: ResponseEvents | undefined;
  #state = OVER;
  #headOnly = false;
  #mayUpgrade = false;
  #informational = 0;
  #keepAlive = false;
  #remaining = 0;
  #chunks: ChunkedDecoder | undefined;
  #pending: Buffer | undefined;

  /** Prepares the parser for the response to one request. */
  expect(method: string, events: ResponseEvents, mayUpgrade = false): void {
    this.#events = events;
    this.#state = HEAD;
    this.#headOnly = method === 'HEAD';
    this.#mayUpgrade = mayUpgrade;
    this.#informational = 0;
    this.#pending = undefined;
  }

  push(bytes: Buffer): void {
    if (this.#state === HEAD) this.#readHead(bytes);
    else this.#readBody(bytes, 0);
  }

  /** The peer has ended its side. */
  finish(): void {
    if (this.#state === UNTIL_CLOSE) this.#end(undefined, false);
    else if (this.#state === HEAD) this.#fault('closed_early');
    else if (this.#state !== OVER) this.#fault('truncated');
  }

  #readHead(bytes: Buffer): void {
    let buffer = bytes;
    let searched = 0;
    if (this.#pending !== undefined) {
      searched = Math.max(this.#pending.length - 3, 0);
      buffer = Buffer.concat([this.#pending, bytes]);
      this.#pending = undefined;
    }
    while (this.#state === HEAD) {
      const end = buffer.indexOf(END_OF_HEAD, searched);
      if (end < 0 || end > MAX_HEAD) return this.#awaitHead(buffer, searched, end);
      const head = parseResponseHead(buffer.toString('latin1', 0, end + 4));
      if (typeof head === 'string') return this.#fault(head);
      if (head.status >= 200) return this.#begin(head, buffer, end + 4);
      if (head.status === 101) return this.#upgrade(head, buffer.subarray(end + 4));
      this.#informational += 1;
      if (this.#informational > MAX_INFORMATIONAL) return this.#fault('too_many_informational');
      this.#events?.informational(head);
      buffer = buffer.subarray(end + 4);
      searched = 0;
    }
  }

  /** The head is incomplete: keeps the bytes, unless they can no longer become a head. */
  #awaitHead(buffer: Buffer, searched: number, end: number): void {
    if (end > MAX_HEAD || buffer.length > MAX_HEAD) return this.#fault('head_too_large');
    if (!mayStartResponse(buffer.toString('latin1', 0, 7))) return this.#fault('not_http');
    for (let at = buffer.indexOf(0x0a, searched); at >= 0; at = buffer.indexOf(0x0a, at + 1)) {
      if (buffer[at - 1] !== 0x0d) return this.#fault('bare_line_feed');
    }
    this.#pending = buffer;
  }

  #begin(head: ResponseHead, buffer: Buffer, from: number): void {
    this.#keepAlive = head.keepAlive;
    this.#events?.head(head);
    // A head handler may have detached the connection, and this parser with it.
    if (this.#state !== HEAD) return;
    if (this.#headOnly || head.status === 304) {
      this.#end(undefined, from === buffer.length);
    } else if (head.status === 204) {
      // A length here means that a body may still come: it must not be taken for the next response.
      this.#end(undefined, from === buffer.length && !head.chunked && !head.contentLength);
    } else if (head.chunked) {
      this.#state = CHUNKED;
      this.#chunks = new ChunkedDecoder();
      if (from < buffer.length) this.#readBody(buffer, from);
    } else if (head.contentLength !== undefined) {
      this.#state = LENGTH;
      this.#remaining = head.contentLength;
      if (from < buffer.length || this.#remaining === 0) this.#readBody(buffer, from);
    } else {
      this.#state = UNTIL_CLOSE;
      if (from < buffer.length) this.#readBody(buffer, from);
    }
  }

  #readBody(buffer: Buffer, from: number): void {
    switch (this.#state) {
      case LENGTH: {
        const end = Math.min(buffer.length, from + this.#remaining);
        const part = from === 0 && end === buffer.length ? buffer : buffer.subarray(from, end);
        this.#remaining -= part.length;
        if (this.#remaining === 0) this.#end(part, end === buffer.length);
        else this.#events?.body(part);
        return;
      }
      case CHUNKED: {
        const chunks = this.#chunks as ChunkedDecoder;
        const end = chunks.decode(buffer, from, (part) => this.#events?.body(part));
        if (this.#state !== CHUNKED) return;
        if (end < 0) this.#fault('bad_chunk');
        else if (chunks.done) this.#end(undefined, end === buffer.length);
        return;
      }
      case UNTIL_CLOSE:
        this.#events?.body(from === 0 ? buffer : buffer.subarray(from));
        return;
      default:
    }
  }

  #end(last: Buffer | undefined, clean: boolean): void {
    const events = this.#events;
    const reusable = clean && this.#keepAlive && this.#state !== UNTIL_CLOSE;
    this.reset();
    events?.end(last, reusable);
  }

  #upgrade(head: ResponseHead, rest: Buffer): void {
    if (!this.#mayUpgrade) return this.#fault('unasked_upgrade');
    const events = this.#events;
    this.reset();
    events?.upgraded(head, rest);
  }

  #fault(fault: ResponseFault): void {
    const events = this.#events;
    this.reset();
    events?.fault(fault);
  }

  /** Drops the response in progress: no more events for it. */
  reset(): void {
    this.#events = undefined;
    this.#state = OVER;
    this.#chunks = undefined;
    this.#pending = undefined;
  }
}
