import type { Readable } from 'node:stream';
import { PortholeError } from '#core/errors.ts';
import { limitedStream } from '../limited-stream.ts';

/** 32 MiB, the bridge's limit for a file and for an archive. */
export const MAX_UPLOAD_BYTES = 33_554_432;

/**
 * Hands the raw body of a request to `use`, as a stream that fails beyond 32 MiB. An announced length that is too long is refused before anything is read.
 * @param tooLarge in the words of the route
 */
export async function withUpload<T>(
  {
    headers,
    stream,
  }: {
    readonly headers: Readonly<Record<string, string | undefined>>;
    readonly stream: () => Readable;
  },
  tooLarge: (bytes: number) => PortholeError,
  use: (content: Readable) => Promise<T>,
): Promise<T> {
  const announced = Number(headers['content-length'] ?? 0);
  if (announced > MAX_UPLOAD_BYTES) throw tooLarge(announced);
  const content = limitedStream(stream(), {
    bytes: MAX_UPLOAD_BYTES,
    tooLarge,
    cutOff: () => new PortholeError('invalid_request', 'The upload was cut off: send it again.'),
  });
  try {
    return await use(content);
  } finally {
    // What was not read must not hold the connection back.
    content.destroy();
  }
}
