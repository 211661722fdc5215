import type { Readable } from 'node:stream';

/** The whole of a stream, or undefined when it is more than so many bytes: then the rest is not read. */
export async function readAtMost(stream: Readable, bytes: number): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > bytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
