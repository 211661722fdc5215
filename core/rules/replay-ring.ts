/** Remembers the last so many bytes of a stream, and no more. */
export class ReplayRing {
  readonly #capacity: number;
  /** Made with the first byte: most are never written to. */
  #bytes: Buffer | undefined;
  /** Where the next byte goes. */
  #at = 0;
  #length = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  push(chunk: Uint8Array): void {
    this.#bytes ??= Buffer.allocUnsafe(this.#capacity);
    const last = chunk.subarray(Math.max(0, chunk.length - this.#capacity));
    const untilEnd = Math.min(last.length, this.#capacity - this.#at);
    this.#bytes.set(last.subarray(0, untilEnd), this.#at);
    this.#bytes.set(last.subarray(untilEnd), 0);
    this.#at = (this.#at + last.length) % this.#capacity;
    this.#length = Math.min(this.#capacity, this.#length + last.length);
  }

  /** A copy, oldest byte first; later pushes do not change it. */
  contents(): Buffer {
    if (this.#bytes === undefined) return Buffer.alloc(0);
    if (this.#length < this.#capacity) return Buffer.from(this.#bytes.subarray(0, this.#length));
    return Buffer.concat([this.#bytes.subarray(this.#at), this.#bytes.subarray(0, this.#at)]);
  }
}
