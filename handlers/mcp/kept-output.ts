import type { Readable } from 'node:stream';

/** Bytes kept of each stream: its beginning, and its end, which has the errors. */
const FIRST = 4 * 1024;
const LAST = 12 * 1024;

/** Characters of the JSON of both streams, which escapes control characters. */
const MAX_JSON_CHARS = 31_000;

/** The beginning and the end of a stream, as far as it has been read. */
export class KeptOutput {
  first = Buffer.alloc(0);
  last = Buffer.alloc(0);
  /** Bytes of the stream. */
  size = 0;

  /** Reads a stream to its end. @throws errors of the stream */
  async read(stream: Readable): Promise<void> {
    for await (const part of stream as AsyncIterable<Buffer>) this.push(part);
  }

  push(part: Buffer): void {
    this.size += part.length;
    const room = FIRST - this.first.length;
    if (room > 0) this.first = Buffer.concat([this.first, part.subarray(0, room)]);
    if (part.length <= room) return;
    this.last = Buffer.concat([this.last, part.subarray(Math.max(room, 0))]).subarray(-LAST);
  }
}

/** The text, of which a share is kept; and how many bytes it leaves out in its middle. */
function textOf({ first, last, size }: KeptOutput, share: number) {
  const begin = first.subarray(0, FIRST * share);
  const end = last.subarray(Math.max(0, last.length - Math.floor(LAST * share)));
  const missing = size - begin.length - end.length;
  const gap = missing === 0 ? '' : `\n… ${missing} bytes left out …\n`;
  return { text: `${begin.toString()}${gap}${end.toString()}`, missing };
}

/** As much of both as fits. */
export function textsOf(stdout: KeptOutput, stderr: KeptOutput) {
  for (let share = 1; ; share *= 0.9) {
    const texts = { stdout: textOf(stdout, share), stderr: textOf(stderr, share) };
    if (JSON.stringify([texts.stdout.text, texts.stderr.text]).length <= MAX_JSON_CHARS) return texts;
  }
}
