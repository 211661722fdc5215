/**
 * A stream's chunks, in every browser: not all streams there can be iterated. Leaving early cancels
 * it.
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
    // One that failed refuses to be cancelled, and has said why already.
    if (!isOver) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}
