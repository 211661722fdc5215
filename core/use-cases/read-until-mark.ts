import { PassThrough, pipeline, type Readable } from 'node:stream';

/** More than any shell has to say before it begins. */
const MOST = 64 * 1024;

/**
 * Takes a mark out of a stream. `rest` is all but the mark: what came before it, and what comes behind it, as it comes. Not found: the stream ended, failed or said too
 * much without it.
 */
export async function readUntilMark(
  stream: Readable,
  mark: string,
): Promise<{ readonly found: boolean; readonly rest: Readable }> {
  let seen: Buffer = Buffer.alloc(0);
  const found = await new Promise<boolean>((resolve) => {
    const settle = (result: boolean) => {
      stream.off('readable', look);
      stream.off('end', ended);
      stream.off('close', ended);
      resolve(result);
    };
    const ended = () => settle(false);
    const look = () => {
      for (
        let chunk = stream.read() as Buffer | null;
        chunk !== null;
        chunk = stream.read() as Buffer | null
      ) {
        seen = Buffer.concat([seen, chunk]);
        const at = seen.indexOf(mark);
        if (at >= 0) {
          seen = Buffer.concat([seen.subarray(0, at), seen.subarray(at + mark.length)]);
          return settle(true);
        }
        if (seen.length > MOST) return settle(false);
      }
    };
    stream.on('readable', look);
    stream.on('end', ended);
    stream.on('close', ended);
    look();
  });
  const rest = new PassThrough();
  if (seen.length > 0) rest.write(seen);
  if (stream.readableEnded) rest.end();
  // An error of the stream destroys the rest with it, which is where it is heard.
  else pipeline(stream, rest, () => undefined);
  return { found, rest };
}
