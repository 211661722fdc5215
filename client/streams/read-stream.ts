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
