/** One message of a server, or a control frame (RFC 6455, section 5.5). */
export type Incoming =
  | { readonly kind: 'text' | 'binary'; readonly data: Buffer }
  | { readonly kind: 'ping' | 'pong'; readonly data: Buffer }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string };

/** A violation of the WebSocket protocol by the server; `closeCode` is the code to close with. */
export class FrameError extends Error {
  readonly closeCode: number;

  constructor(message: string, closeCode: number) {
    super(message);
    this.closeCode = closeCode;
  }
}

/** Maximum size of one message, in bytes. */
const MAX_MESSAGE = 16_777_216;
/** The code of a close frame without a status (RFC 6455, section 7.4.1). */
const NO_STATUS = 1005;

const CONTINUATION = 0x0;
const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

/**
 * Parses the bytes of a WebSocket server, in chunks of any size. Servers do not mask, and no
 * extension was negotiated.
 */
export class FrameReader {
  #held: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = [];
  #length = 0;
  #kind: 'text' | 'binary' | undefined;

  /** @throws FrameError */
  push(bytes: Buffer): Incoming[] {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const found: Incoming[] = [];
    for (;;) {
      const frame = this.#next();
      if (frame === undefined) return found;
      const incoming = this.#take(frame);
      if (incoming !== undefined) found.push(incoming);
    }
  }

  #next(): Frame | undefined {
    const held = this.#held;
    if (held.length < 2) return undefined;
    const [first, second] = [held.readUInt8(0), held.readUInt8(1)];
    if ((first & 0x70) !== 0 || (second & 0x80) !== 0)
      throw new FrameError('a frame that no server sends', 1002);
    const short = second & 0x7f;
    const head = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (held.length < head) return undefined;
    const length =
      short === 126 ? held.readUInt16BE(2) : short === 127 ? Number(held.readBigUInt64BE(2)) : short;
    const opcode = first & 0x0f;
    if (opcode >= CLOSE && (length > 125 || (first & 0x80) === 0)) {
      throw new FrameError('a control frame that is none', 1002);
    }
    if (length + this.#length > MAX_MESSAGE) throw new FrameError('a message that is too long', 1009);
    if (held.length < head + length) return undefined;
    this.#held = held.subarray(head + length);
    return { opcode, isLast: (first & 0x80) !== 0, data: held.subarray(head, head + length) };
  }

  #take({ opcode, isLast, data }: Frame): Incoming | undefined {
    if (opcode === PING) return { kind: 'ping', data };
    if (opcode === PONG) return { kind: 'pong', data };
    if (opcode === CLOSE) return closeOf(data);
    if (opcode === TEXT || opcode === BINARY) {
      if (this.#kind !== undefined) throw new FrameError('a message in the middle of another', 1002);
      this.#kind = opcode === TEXT ? 'text' : 'binary';
    } else if (opcode !== CONTINUATION || this.#kind === undefined) {
      throw new FrameError('a frame that belongs to no message', 1002);
    }
    this.#parts.push(data);
    this.#length += data.length;
    if (!isLast) return undefined;
    const incoming = { kind: this.#kind, data: Buffer.concat(this.#parts) };
    this.#parts = [];
    this.#length = 0;
    this.#kind = undefined;
    return incoming;
  }
}

interface Frame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly data: Buffer;
}

function closeOf(data: Buffer): Incoming {
  if (data.length === 1) throw new FrameError('a close frame that is none', 1002);
  if (data.length === 0) return { kind: 'close', code: NO_STATUS, reason: '' };
  return { kind: 'close', code: data.readUInt16BE(0), reason: data.toString('utf8', 2) };
}
