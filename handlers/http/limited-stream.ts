import { Readable } from 'node:stream';

/** Pieces of a body that wait for their reader, 64 KiB each. */
const AHEAD = 4;

/**
 * A request's body as it comes, up to so many bytes: one more and it fails with what `tooLarge`
 * makes. A client that went away in the middle makes it fail with what `cutOff` makes, because it
 * must not look like the end. Destroying it leaves the source to be drained.
 */
export function limitedStream(
  source: Readable,
  limit: {
    readonly bytes: number;
    readonly tooLarge: (seen: number) => Error;
    readonly cutOff: () => Error;
  },
): Readable {
  let seen = 0;
  const counted = new Readable({
    // A stream of bytes would copy waiting pieces into one: twice the memory, and its collection
    // takes longer than all the rest.
    objectMode: true,
    highWaterMark: AHEAD,
    read: () => void source.resume(),
    // At once, not on `close`: a consumer may still drain the source.
    destroy(error, done) {
      source.off('data', take);
      source.off('end', end);
      source.pause();
      done(error);
    },
  });
  const take = (chunk: Buffer) => {
    seen += chunk.length;
    if (seen > limit.bytes) counted.destroy(limit.tooLarge(seen));
    else if (!counted.push(chunk)) source.pause();
  };
  const end = () => counted.push(null);
  const fail = () => counted.destroy(limit.cutOff());
  source.on('data', take);
  source.once('end', end);
  source.once('error', fail);
  source.once('close', () => {
    if (!source.readableEnded) fail();
  });
  // It may fail before the first read. A later reader receives the error.
  counted.on('error', () => undefined);
  return counted;
}
