/** Length of a frame's first part, which says how long its head is (RFC 6455 section 5.2). */
const SHORT_HEAD = 2;
/** Bits of continuation, text, binary, close, ping and pong. */
const OPCODES = 0b111_0000_0111;
const CLOSE = 8;
/** An unmasked head below this has the length of its frame, without more bytes. */
const LONG = 126;

/**
 * Follows the frames of one direction of a WebSocket by their heads, to know where another frame
 * may be inserted. It never changes or keeps content.
 */
export class FrameBoundary {
  readonly #head = Buffer.alloc(14);
  #received = 0;
  /** Bytes of the current frame that are still to come after its head. */
  #rest = 0;
  #isOver = false;

  /**
   * Whether a control frame may be inserted after the bytes so far: not inside a frame, not after a
   * Close, and not if the bytes are no frames.
   */
  get isBetweenFrames(): boolean {
    return !this.#isOver && this.#received === 0 && this.#rest === 0;
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.#isOver; ) {
      if (this.#rest > 0) {
        const skipped = Math.min(this.#rest, bytes.length - at);
        this.#rest -= skipped;
        at += skipped;
      } else if (this.#received === 0) {
        at = this.#skipShortFrames(bytes, at);
        if (at < bytes.length) this.#readHead(bytes[at++] as number);
      } else {
        this.#readHead(bytes[at] as number);
        at += 1;
      }
    }
  }

  /**
   * Skips whole frames of an app with short heads, and returns where the next one begins. Fast: an
   * app may send twenty thousand of them in one portion.
   */
  #skipShortFrames(bytes: Buffer, from: number): number {
    let at = from;
    while (at + 1 < bytes.length) {
      const opcode = (bytes[at] as number) & 0x0f;
      const length = bytes[at + 1] as number;
      const next = at + SHORT_HEAD + length;
      if (opcode === CLOSE || ((OPCODES >> opcode) & 1) === 0 || length >= LONG || next > bytes.length) break;
      at = next;
    }
    return at;
  }

  #readHead(byte: number): void {
    this.#head[this.#received] = byte;
    this.#received += 1;
    const opcode = (this.#head[0] as number) & 0x0f;
    if (((OPCODES >> opcode) & 1) === 0) this.#isOver = true;
    if (this.#received < SHORT_HEAD) return;
    const length = (this.#head[1] as number) & 0x7f;
    const lengthBytes = length < LONG ? 0 : length === LONG ? 2 : 8;
    const maskBytes = (this.#head[1] as number) >= 0x80 ? 4 : 0;
    if (this.#received < SHORT_HEAD + lengthBytes + maskBytes) return;
    this.#rest = this.#payloadLength(lengthBytes);
    this.#received = 0;
    if (opcode === CLOSE) this.#isOver = true;
  }

  #payloadLength(lengthBytes: number): number {
    if (lengthBytes === 0) return (this.#head[1] as number) & 0x7f;
    return lengthBytes === 2 ? this.#head.readUInt16BE(2) : Number(this.#head.readBigUInt64BE(2));
  }
}
