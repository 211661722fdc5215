import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { PortholeError } from '#base/errors.ts';
import { checkNotCompressed } from '../http/read-input.ts';
import { limitedStream, type UnreadBody } from '../http/limited-stream.ts';

/**
 * The body of an upload, which E2B's clients may compress. What comes out is written at the pace of
 * the sandbox's disk, which limits it.
 * @throws PortholeError `unsupported_media_type` for another encoding than gzip
 */
export function uploadedBody({ headers, stream }: UnreadBody): UnreadBody {
  const { 'content-encoding': encoding, 'content-length': _length, ...others } = headers;
  if (encoding?.toLowerCase() !== 'gzip') {
    checkNotCompressed(headers);
    return { headers, stream };
  }
  return { headers: others, stream: () => gunzipped(stream()) };
}

/** Read-ahead of the body, in pieces. */
const AHEAD = 4;

function gunzipped(source: Readable): Readable {
  const cutOff = () => new PortholeError('invalid_request', 'The upload was cut off');
  // Its end leaves the connection open: the client gets an answer.
  const limited = limitedStream(source, { bytes: Infinity, tooLarge: cutOff, cutOff });
  async function* pieces(): AsyncGenerator<Buffer, void, undefined> {
    const plain = createGunzip();
    pipeline(limited, plain, () => undefined);
    yield* plain as AsyncIterable<Buffer>;
  }
  // Begins with the first read: an error before that would have no reader.
  return Readable.from(pieces(), { highWaterMark: AHEAD });
}

/** An error of zlib is one of the client's bytes. */
export function asUploadError(error: unknown): unknown {
  const { code } = (error ?? {}) as { readonly code?: string };
  if (code?.startsWith('Z_') !== true) return error;
  return new PortholeError('invalid_request', 'The body is not gzip, as its Content-Encoding says', {
    cause: error,
  });
}
