import { concatBytes } from './concat-bytes.ts';
import { readStream } from './read-stream.ts';

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
