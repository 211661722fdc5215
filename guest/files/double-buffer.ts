/** Takes a piece of an answer, and resolves once its buffer may be reused. */
export type Sink = (piece: Buffer) => Promise<void>;

/** Bytes of each of the two buffers. */
export const BUFFER_BYTES = 256 * 1024;

/** Collects bytes for a sink: one buffer is filled while the other is sent. */
export class DoubleBuffer {
  /** The one to fill, from `used`. */
  bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  used = 0;
  readonly #sink: Sink;
  #spare = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #sent: Promise<void> = Promise.resolve();

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  get left(): number {
    return BUFFER_BYTES - this.used;
  }

  async makeRoom(bytes: number): Promise<void> {
    if (this.left < bytes) await this.flush();
  }

  /** Begins to send what is there. Rejects if what was sent before has failed. */
  async flush(): Promise<void> {
    if (this.used === 0) return;
    await this.#sent;
    this.#sent = this.#sink(this.bytes.subarray(0, this.used));
    // It is awaited before the next one; until then a failure must not count as unhandled.
    this.#sent.catch(() => undefined);
    [this.bytes, this.#spare] = [this.#spare, this.bytes];
    this.used = 0;
  }

  /** Resolves once all is sent. */
  async end(): Promise<void> {
    await this.flush();
    await this.#sent;
  }
}
