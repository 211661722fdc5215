import { createHash, randomBytes } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Socket } from '../sandboxes/open-socket.ts';
import { FrameError, FrameReader, type Incoming } from './frame-reader.ts';

const OPCODES = { text: 0x1, binary: 0x2, close: 0x8, pong: 0xa } as const;

/** One whole message of a client, masked as RFC 6455 section 5.3 asks of clients. */
export function writeFrame(kind: keyof typeof OPCODES, data: Uint8Array): Uint8Array {
  const { length } = data;
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + size + 4 + length);
  frame[0] = 0x80 | OPCODES[kind];
  frame[1] = 0x80 | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size === 2) frame.writeUInt16BE(length, 2);
  else if (size === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const at = 2 + size;
  frame.set(mask, at);
  for (let index = 0; index < length; index += 1) {
    frame[at + 4 + index] = (data[index] as number) ^ (mask[index & 3] as number);
  }
  return frame;
}

/** RFC 6455, section 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** How long the other side may take to close, in milliseconds. */
const CLOSING_MS = 2_000;
/** Limit for a refused handshake's body, in characters: the API's errors are shorter. */
const MAX_REFUSAL = 4_096;

/** A WebSocket with the credential in the Authorization header, in every Node from 20 on. */
export function openNodeSocket(url: URL, authorization: string | undefined): Socket {
  return new NodeSocket(url, authorization);
}

interface CloseEvent {
  readonly code: number;
  readonly reason: string;
}

/** The subset of the browser's WebSocket that a terminal needs. */
class NodeSocket implements Socket {
  binaryType = 'arraybuffer';
  readonly #opened = new Set<() => void>();
  readonly #failed = new Set<() => void>();
  readonly #messages = new Set<(event: { readonly data: unknown }) => void>();
  readonly #closed = new Set<(event: CloseEvent) => void>();
  readonly #reader = new FrameReader();
  readonly #abort = new AbortController();
  #duplex: Duplex | undefined;
  #isOver = false;
  #isClosing = false;
  /** The close frame of the other side; undefined if the connection was lost. */
  #closeReason: CloseEvent | undefined;

  constructor(url: URL, authorization: string | undefined) {
    const key = randomBytes(16).toString('base64');
    const target = new URL(url);
    target.protocol = url.protocol === 'wss:' ? 'https:' : 'http:';
    const outgoing = (target.protocol === 'https:' ? requestHttps : requestHttp)(target, {
      agent: false,
      signal: this.#abort.signal,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': key,
        ...(authorization === undefined ? {} : { authorization }),
      },
    });
    outgoing.once('upgrade', (response, duplex, head) => {
      const wanted = createHash('sha1')
        .update(key + GUID)
        .digest('base64');
      if (response.headers['sec-websocket-accept'] !== wanted) {
        duplex.destroy();
        return this.#end({ code: 1006, reason: 'the answer to the handshake is not for it' });
      }
      return this.#open(duplex, head);
    });
    outgoing.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text = (text + chunk).slice(0, MAX_REFUSAL)));
      response.once('close', () => {
        const { statusCode = 0 } = response;
        // A 5xx is temporary: 1013 (try again later).
        this.#end({ code: statusCode >= 500 ? 1013 : 1008, reason: refusal(statusCode, text) });
      });
    });
    outgoing.once('error', (error) => this.#end({ code: 1006, reason: error.message }));
    outgoing.end();
  }

  get bufferedAmount(): number {
    return this.#duplex?.writableLength ?? 0;
  }

  send(data: string | Uint8Array): void {
    if (this.#isClosing) return;
    const isText = typeof data === 'string';
    this.#duplex?.write(writeFrame(isText ? 'text' : 'binary', isText ? Buffer.from(data) : data));
  }

  close(code = 1000, reason = ''): void {
    if (this.#isOver) return;
    if (this.#duplex === undefined) return this.#abort.abort();
    this.#sendCloseReason(code, reason);
    const timer = setTimeout(() => this.#duplex?.destroy(), CLOSING_MS);
    timer.unref();
    this.#duplex.once('close', () => clearTimeout(timer));
    return undefined;
  }

  addEventListener(
    type: 'open' | 'error' | 'message' | 'close',
    listener: (() => void) | ((event: { readonly data: unknown }) => void) | ((event: CloseEvent) => void),
  ): void {
    if (type === 'message') this.#messages.add(listener as (event: { readonly data: unknown }) => void);
    else if (type === 'close') this.#closed.add(listener as (event: CloseEvent) => void);
    else (type === 'open' ? this.#opened : this.#failed).add(listener as () => void);
  }

  #open(duplex: Duplex, head: Buffer): void {
    this.#duplex = duplex;
    duplex.on('error', () => undefined);
    duplex.once('close', () => this.#end(this.#closeReason ?? { code: 1006, reason: '' }));
    duplex.once('end', () => duplex.end());
    duplex.on('data', (bytes: Buffer) => this.#read(bytes));
    for (const listener of this.#opened) listener();
    if (head.length > 0) this.#read(head);
  }

  #read(bytes: Buffer): void {
    try {
      for (const incoming of this.#reader.push(bytes)) this.#take(incoming);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#closeReason = { code: 1006, reason: `the server sent ${error.message}` };
      this.#sendCloseReason(error.closeCode, '');
      this.#duplex?.destroy();
    }
  }

  #take(incoming: Incoming): void {
    switch (incoming.kind) {
      case 'ping':
        this.#duplex?.write(writeFrame('pong', incoming.data));
        break;
      case 'pong':
        break;
      case 'close':
        this.#closeReason ??= { code: incoming.code, reason: incoming.reason };
        this.#sendCloseReason(incoming.code === 1005 ? 1000 : incoming.code, '');
        this.#duplex?.end();
        break;
      case 'text':
        for (const listener of this.#messages) listener({ data: incoming.data.toString('utf8') });
        break;
      case 'binary': {
        const { buffer, byteOffset, byteLength } = incoming.data;
        const data = buffer.slice(byteOffset, byteOffset + byteLength);
        for (const listener of this.#messages) listener({ data });
      }
    }
  }

  /** At most once: no frame may follow it. */
  #sendCloseReason(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
    payload.writeUInt16BE(code, 0);
    payload.write(reason, 2);
    this.#duplex?.write(writeFrame('close', payload));
  }

  #end(event: CloseEvent): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (event.code === 1006) for (const listener of this.#failed) listener();
    for (const listener of this.#closed) listener(event);
  }
}

/** The API's message, if the response is the API's. */
function refusal(status: number, text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === 'string') return error;
  } catch {
    // The status reports it.
  }
  return `the handshake was answered with status ${status}`;
}
