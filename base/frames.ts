/** Frames of a type byte, a length (uint32, big endian) and that many bytes. */
import { freeBuffer } from './free-buffer.ts';

/** Bytes of a type and a length. */
export const FRAME_HEAD = 5;

export interface Frame {
  readonly type: number;
  readonly payload: Buffer;
  /** False for the second and later pieces of one frame's contents. */
  readonly isFirst: boolean;
}

export interface FrameLimits {
  /** The type that is read in pieces, as it arrives; others are read as a whole. */
  readonly contents: number;
  /** In bytes. */
  readonly maxContents: number;
  readonly maxWhole: number;
  /** The error for frames that are cut off or too long. */
  readonly malformed: () => Error;
}

/** The head of a frame. */
export function frameHead(type: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(FRAME_HEAD);
  head[0] = type;
  head.writeUInt32BE(length, 1);
  return head;
}

/** Yields contents in pieces as they arrive, and other frames as a whole. */
export async function* readFrames(
  source: AsyncIterable<Buffer>,
  { contents, maxContents, maxWhole, malformed }: FrameLimits,
): AsyncGenerator<Frame, void, undefined> {
  let held: Buffer = Buffer.alloc(0);
  let type = 0;
  let left = 0;
  let isFirst = true;
  for await (const chunk of source) {
    let rest = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    held = Buffer.alloc(0);
    while (rest.length > 0) {
      if (left > 0 && type === contents) {
        const payload = rest.subarray(0, left);
        left -= payload.length;
        rest = rest.subarray(payload.length);
        yield { type, payload, isFirst };
        isFirst = false;
        continue;
      }
      if (rest.length < FRAME_HEAD) break;
      const length = rest.readUInt32BE(1);
      const next = rest[0] as number;
      if (length > (next === contents ? maxContents : maxWhole)) throw malformed();
      if (next !== contents && rest.length < FRAME_HEAD + length) break;
      type = next;
      isFirst = true;
      rest = rest.subarray(FRAME_HEAD);
      if (type === contents) left = length;
      else {
        yield { type, payload: rest.subarray(0, length), isFirst };
        rest = rest.subarray(length);
      }
    }
    held = rest;
    if (held.length === 0) freeBuffer(chunk);
  }
  if (held.length > 0 || left > 0) throw malformed();
}
