import type { Readable } from 'node:stream';

/** How much of each stream is kept, in bytes: what comes first, and what comes last, where errors stand. */
const FIRST = 16 * 1024;
const LAST = 48 * 1024;

/** What a command printed, within bounds. */
export interface KeptOutput {
  readonly text: string;
  /** Bytes that are missing in the middle. */
  readonly missing: number;
}

/** Reads a stream to its end and keeps its beginning and its end. @throws what the stream fails with */
export async function keptOutput(stream: Readable): Promise<KeptOutput> {
  let first = Buffer.alloc(0);
  let last = Buffer.alloc(0);
  let seen = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    seen += part.length;
    const room = FIRST - first.length;
    if (room > 0) first = Buffer.concat([first, part.subarray(0, room)]);
    if (part.length <= room) continue;
    last = Buffer.concat([last, part.subarray(room)]).subarray(-LAST);
  }
  const missing = seen - first.length - last.length;
  const gap = missing === 0 ? '' : `\n… ${missing} bytes left out …\n`;
  return { text: `${first.toString()}${gap}${last.toString()}`, missing };
}
