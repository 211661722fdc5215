/** Concatenates into new memory. */
export function concatBytes(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/**
 * A stream's chunks, in every browser: not all support async iteration of streams. Leaving early
 * cancels it.
 */
export async function* readStream(
  stream: ReadableStream<Uint8Array> | null,
): AsyncGenerator<Uint8Array, void> {
  if (stream === null) return;
  const reader = stream.getReader();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        isOver = true;
        return;
      }
      yield value;
    }
  } finally {
    // A failed stream rejects `cancel` and has already reported its error.
    if (!isOver) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

/** The first bytes of a stream, up to a limit; the rest is not read. */
export async function readAtMost(
  stream: ReadableStream<Uint8Array> | null,
  bytes: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of readStream(stream)) {
    chunks.push(chunk.subarray(0, bytes - length));
    length += chunk.length;
    if (length >= bytes) break;
  }
  return concatBytes(chunks);
}

/** The bytes of a stream if there are at most so many, and otherwise a stream of all of them. */
export async function wholeIfSmall(
  stream: ReadableStream<Uint8Array>,
  most: number,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>> {
  const rest = readStream(stream);
  const chunks: Uint8Array[] = [];
  for (let length = 0; length <= most; ) {
    const { done, value } = await rest.next();
    if (done === true) return concatBytes(chunks);
    chunks.push(value);
    length += value.length;
  }
  return toStream(
    (async function* () {
      yield* chunks;
      yield* rest;
    })(),
  );
}

/** A stream of an iterable's chunks, pulled on demand. */
export function toStream(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
