/**
 * WebSocket (RFC 6455) between host and guest: no extensions, no fragments, a type byte at the head
 * of each binary message. Payloads of data types are passed in pieces as they arrive, so that
 * neither side copies them.
 */
import { createHash } from 'node:crypto';
import { EXEC_DATA } from './exec-protocol.ts';
import { MAX_JSON } from './http-protocol.ts';

const OPCODE = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** RFC 6455 §5.2: this is the last fragment; the payload is masked. */
const FINAL = 0x80;
const MASKED = 0x80;

const MAX_DATA = 1024 * 1024;
const MAX_CONTROL = 4096;

/** Longest frame head: 2 bytes, 8 of length, 4 of mask. */
const MAX_HEAD_BYTES = 14;

/** RFC 6455 §4.2.2 */
export function acceptKey(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}

function head(opcode: number, length: number, masked: boolean, room = 0): Buffer {
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const mask = masked ? 4 : 0;
  // A mask of zeros leaves the payload unchanged: masks protect caching proxies (§10.3), and there
  // are none between host and guest.
  const bytes = Buffer.alloc(2 + extra + mask + room);
  bytes[0] = FINAL | opcode;
  bytes[1] = (masked ? MASKED : 0) | (extra === 0 ? length : extra === 2 ? 126 : 127);
  if (extra === 2) bytes.writeUInt16BE(length, 2);
  else if (extra === 8) bytes.writeBigUInt64BE(BigInt(length), 2);
  return bytes;
}

/** Builds messages; a client masks, a server does not (§5.1). */
export class WebSocketWriter {
  readonly #masked: boolean;

  constructor(side: 'client' | 'server') {
    this.#masked = side === 'client';
  }

  text(payload: string): Buffer {
    const bytes = Buffer.from(payload);
    return Buffer.concat([head(OPCODE.text, bytes.length, this.#masked), bytes]);
  }

  /** A message without its payload; write the payload directly after it, without a copy. */
  binaryHead(type: number, length: number): Buffer {
    const bytes = head(OPCODE.binary, length + 1, this.#masked, 1);
    bytes[bytes.length - 1] = type;
    return bytes;
  }

  binary(type: number, payload: string | Buffer = ''): Buffer {
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    return Buffer.concat([this.binaryHead(type, bytes.length), bytes]);
  }

  close(): Buffer {
    return head(OPCODE.close, 0, this.#masked);
  }

  pong(payload: Buffer): Buffer {
    return Buffer.concat([head(OPCODE.pong, payload.length, this.#masked), payload]);
  }
}

export type WebSocketMessage =
  /** A whole message, or a piece of one for types in `EXEC_DATA`. */
  | { readonly kind: 'binary'; readonly type: number; readonly payload: Buffer }
  | { readonly kind: 'text' | 'close' | 'ping'; readonly payload: Buffer };

/**
 * Yields messages from chunks: a reader may stop at any message.
 * @throws Error on a fragment, an unknown opcode, a wrong mask or a length over its limit
 */
export class WebSocketReader {
  readonly #expectMask: boolean;
  readonly #head = Buffer.alloc(MAX_HEAD_BYTES);
  #headLength = 0;
  #opcode = 0;
  #type: number | undefined;
  #mask: Buffer | undefined;
  #position = 0;
  #left = 0;
  #parts: Buffer[] = [];

  constructor(side: 'client' | 'server') {
    this.#expectMask = side === 'server';
  }

  *read(chunk: Buffer): Generator<WebSocketMessage> {
    let at = 0;
    while (at < chunk.length) {
      const missing = this.#headNeeds() - this.#headLength;
      if (missing > 0) {
        const taken = chunk.copy(this.#head, this.#headLength, at, at + missing);
        this.#headLength += taken;
        at += taken;
        if (this.#headLength < this.#headNeeds()) continue;
        this.#begin();
        if (this.#left === 0) yield* this.#finish();
        continue;
      }
      let piece = this.#unmask(chunk.subarray(at, at + this.#left));
      at += piece.length;
      this.#left -= piece.length;
      if (this.#opcode === OPCODE.binary && this.#type === undefined) {
        this.#type = piece[0] as number;
        piece = piece.subarray(1);
        if (!EXEC_DATA.has(this.#type) && piece.length + this.#left > MAX_CONTROL)
          throw new Error('a message is too long');
      }
      if (this.#type !== undefined && EXEC_DATA.has(this.#type)) {
        const { length } = piece;
        if (length > 0) yield { kind: 'binary', type: this.#type, payload: piece };
        if (this.#left === 0) this.#reset();
      } else {
        // A part is copied: the owner of the chunk may free it.
        if (piece.length > 0) this.#parts.push(this.#left === 0 ? piece : Buffer.from(piece));
        if (this.#left === 0) yield* this.#finish();
      }
    }
  }

  #headNeeds(): number {
    if (this.#headLength < 2) return 2;
    const short = (this.#head[1] as number) & 0x7f;
    return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + (this.#expectMask ? 4 : 0);
  }

  #begin(): void {
    const [first = 0, second = 0] = this.#head;
    this.#opcode = first & 0x0f;
    if ((first & 0xf0) !== FINAL) throw new Error('a fragment, or an extension that was not agreed on');
    if (((second & MASKED) !== 0) !== this.#expectMask) throw new Error('a wrong mask bit');
    const short = second & 0x7f;
    const length =
      short === 126
        ? this.#head.readUInt16BE(2)
        : short === 127
          ? Number(this.#head.readBigUInt64BE(2))
          : short;
    const longestText = this.#expectMask ? MAX_JSON : MAX_CONTROL;
    const limit =
      this.#opcode === OPCODE.binary ? MAX_DATA : this.#opcode === OPCODE.text ? longestText : 125;
    if (length > limit) throw new Error(`a message of ${length} bytes`);
    if (this.#opcode === OPCODE.binary && length === 0) throw new Error('a message without a type');
    const mask = this.#expectMask ? this.#head.subarray(this.#headLength - 4, this.#headLength) : undefined;
    this.#mask = mask?.some((byte) => byte !== 0) ? Buffer.from(mask) : undefined;
    this.#position = 0;
    this.#left = length;
    this.#type = undefined;
  }

  #unmask(piece: Buffer): Buffer {
    const mask = this.#mask;
    if (mask === undefined) return piece;
    for (let index = 0; index < piece.length; index += 1) {
      piece[index] = (piece[index] as number) ^ (mask[(this.#position + index) & 3] as number);
    }
    this.#position += piece.length;
    return piece;
  }

  *#finish(): Generator<WebSocketMessage> {
    const payload = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    const [opcode, type] = [this.#opcode, this.#type];
    this.#reset();
    if (opcode === OPCODE.binary) yield { kind: 'binary', type: type as number, payload };
    else if (opcode === OPCODE.text) yield { kind: 'text', payload };
    else if (opcode === OPCODE.close) yield { kind: 'close', payload };
    else if (opcode === OPCODE.ping) yield { kind: 'ping', payload };
    else if (opcode !== OPCODE.pong) throw new Error(`a message with the opcode ${opcode}`);
  }

  #reset(): void {
    this.#headLength = 0;
    this.#type = undefined;
    this.#parts = [];
  }
}
