import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { PortholeError } from '#core/errors.ts';
import { limitedStream } from '../limited-stream.ts';

/** The whole body of a request, where it is small enough; an announced length that is not is refused before anything is read. */
export async function readUpload(
  {
    headers,
    stream,
  }: {
    readonly headers: Readonly<Record<string, string | undefined>>;
    readonly stream: () => Readable;
  },
  bytes: number,
  tooLarge: (seen: number) => PortholeError,
): Promise<Buffer> {
  const announced = Number(headers['content-length'] ?? 0);
  if (announced > bytes) throw tooLarge(announced);
  const content = limitedStream(stream(), {
    bytes,
    tooLarge,
    cutOff: () => new PortholeError('invalid_request', 'The upload was cut off: send it again.'),
  });
  try {
    return await buffer(content);
  } finally {
    content.destroy();
  }
}
