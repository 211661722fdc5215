import type { ServerSentEvent } from '#base/server-sent-events.ts';

/** Limits memory: an event may carry one byte. */
const MAX_EVENTS = 20_000;

/** The bytes of both streams, at most `most`; further events are not read. */
export async function collectOutput(
  events: AsyncIterable<Pick<ServerSentEvent, 'event' | 'data'> | undefined>,
  most: number,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  let count = 0;
  for await (const came of events) {
    count += 1;
    if (came?.event === 'stdout' || came?.event === 'stderr') {
      const piece = Buffer.from(came.data, 'base64');
      pieces.push(piece);
      length += piece.length;
    }
    if (length >= most || count >= MAX_EVENTS) break;
  }
  return Buffer.concat(pieces).subarray(0, most);
}
