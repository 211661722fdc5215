import { Readable } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import { ownPieces } from '#base/free-buffer.ts';
import type { RouteRequest } from '../route.ts';

/** A request with a body that is not read yet. */
export type UnreadBody = Pick<RouteRequest<unknown, unknown, unknown>, 'headers' | 'stream'>;

/** Read-ahead of a body, in pieces of 64 KiB. */
const AHEAD = 4;
/** How long a reader waits for the next bytes of a body, in milliseconds. */
const STALLED_MS = 60_000;

/**
 * A request's body as a stream that fails with `tooLarge` beyond its limit, with `cutOff` if the
 * client disconnects, so that truncation never looks like the end, and with `request_timeout` if it
 * sends nothing for a minute while the body is read: its slot would never be free again. Destroying
 * it leaves the source to be drained.
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
  let waiting: NodeJS.Timeout | undefined;
  const wait = () => {
    waiting ??= setTimeout(stalled, STALLED_MS);
    source.resume();
  };
  const pause = () => {
    clearTimeout(waiting);
    waiting = undefined;
    source.pause();
  };
  const counted = new Readable({
    // A byte stream would copy buffered pieces into one: twice the memory, and expensive garbage
    // collection.
    objectMode: true,
    highWaterMark: AHEAD,
    read: wait,
    // Immediately, not on `close`: a consumer may still drain the source.
    destroy(error, done) {
      source.off('data', take);
      source.off('end', end);
      pause();
      done(error);
    },
  });
  const take = (chunk: Buffer) => {
    seen += chunk.length;
    if (seen > limit.bytes) counted.destroy(limit.tooLarge(seen));
    else if (counted.push(chunk)) waiting?.refresh();
    else pause();
  };
  const end = () => {
    clearTimeout(waiting);
    counted.push(null);
  };
  const stalled = () =>
    counted.destroy(
      new PortholeError('request_timeout', `No bytes of the body arrived for ${STALLED_MS / 1_000} seconds`, {
        remedy: 'send it without pauses.',
      }),
    );
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

/**
 * Passes the raw body of a request to `use`, as a stream that fails beyond `bytes`. A larger
 * Content-Length is rejected before anything is read.
 * @param limit.tooLarge the route's error
 */
export async function withUpload<T>(
  { headers, stream }: UnreadBody,
  limit: { readonly bytes: number; readonly tooLarge: (seen: number) => PortholeError },
  use: (content: Readable) => Promise<T>,
): Promise<T> {
  const announced = Number(headers['content-length'] ?? 0);
  if (announced > limit.bytes) throw limit.tooLarge(announced);
  const cutOff = () =>
    new PortholeError('invalid_request', 'The upload was cut off', { remedy: 'send it again.' });
  const content = limitedStream(stream(), { ...limit, cutOff });
  try {
    return await use(ownPieces(content));
  } finally {
    // An unread rest must not block the connection.
    content.destroy();
  }
}
