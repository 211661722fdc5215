import { readStream, toStream } from '../streams/byte-streams.ts';

/** A request's body with its media type. */
export interface FileForm {
  readonly contentType: string;
  readonly body: Blob | ReadableStream<Uint8Array>;
}

/**
 * A form with one file, which is read as it is sent. `FormData` takes no streams, and has no form
 * for some names. @param name may have any character: it is written as RFC 8187 says
 */
export function fileForm(name: string, content: Blob | ReadableStream<Uint8Array>): FileForm {
  const boundary = `porthole-${crypto.randomUUID()}`;
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="files"; filename*=UTF-8''${encodeURIComponent(name)}\r\n\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  const contentType = `multipart/form-data; boundary=${boundary}`;
  if (content instanceof Blob) return { contentType, body: new Blob([head, content, tail]) };
  const encoder = new TextEncoder();
  return {
    contentType,
    body: toStream(
      (async function* () {
        yield encoder.encode(head);
        yield* readStream(content);
        yield encoder.encode(tail);
      })(),
    ),
  };
}
