/**
 * A bounded byte queue: one side writes and the other reads, with at most `most` bytes buffered.
 */
export class Mailbox implements AsyncIterable<Uint8Array> {
  readonly #most: number;
  readonly #waiting: Uint8Array[] = [];
  #length = 0;
  #isOver = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /** False if the mailbox is full or closed. */
  put(bytes: Uint8Array): boolean {
    if (this.#isOver) return false;
    if (this.#length + bytes.length > this.#most) return false;
    this.#waiting.push(bytes);
    this.#length += bytes.length;
    this.#wake?.();
    return true;
  }

  /** Ends the mailbox. `error` is raised after the queued items. */
  end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#length -= next.length;
        yield next;
      } else if (this.#isOver) {
        if (this.#error !== undefined) throw this.#error;
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    }
  }
}
