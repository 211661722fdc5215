import { type Readable, Transform } from 'node:stream';

/**
 * A request's body as it comes, up to so many bytes: one more and it fails with what `tooLarge` makes. A client that went away in the middle makes it fail with
 * what `cutOff` makes, because it must not look like the end. Destroying it leaves the source to be drained.
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
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      done(seen > limit.bytes ? limit.tooLarge(seen) : null, chunk);
    },
    // At once, and not on `close`: that would stop whoever drains the source meanwhile.
    destroy(error, done) {
      source.unpipe(counted);
      done(error);
    },
  });
  const fail = () => counted.destroy(limit.cutOff());
  source.once('error', fail);
  source.once('close', () => {
    if (!source.readableEnded) fail();
  });
  return source.pipe(counted);
}
