/** Length of a frame's first part, which says how long its head is (RFC 6455 section 5.2). */
const SHORT_HEAD = 2;
/** Continuation, text, binary, close, ping and pong. */
const OPCODES: ReadonlySet<number> = new Set([0, 1, 2, 8, 9, 10]);
const CLOSE = 8;

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
      } else {
        this.#readHead(bytes[at] as number);
        at += 1;
      }
    }
  }

  #readHead(byte: number): void {
    this.#head[this.#received] = byte;
    this.#received += 1;
    const opcode = (this.#head[0] as number) & 0x0f;
    if (!OPCODES.has(opcode)) this.#isOver = true;
    if (this.#received < SHORT_HEAD) return;
    const lengthBytes = { 126: 2, 127: 8 }[(this.#head[1] as number) & 0x7f] ?? 0;
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
