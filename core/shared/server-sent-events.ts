import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/**
 * One event of a stream, as the HTML standard parses it; comments and unknown fields are left out.
 */
export interface ServerSentEvent {
  /** @default message */
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/**
 * An event holds at most a piece of output of 64 KiB in base64; this bounds what a hostile guest
 * can pile up.
 */
const MAX_EVENT = 1024 * 1024;

/**
 * Yields undefined for a comment, which keeps a connection alive. @throws Error on an event that is
 * too long, and what the source fails with
 */
export async function* serverSentEvents(
  source: Readable,
): AsyncGenerator<ServerSentEvent | undefined, void, undefined> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of source as AsyncIterable<Buffer>) {
    rest += decoder.write(chunk);
    let begin = 0;
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n', begin)) {
      yield readEvent(rest.slice(begin, end));
      begin = end + 2;
    }
    rest = rest.slice(begin);
    if (rest.length > MAX_EVENT) throw new Error(`an event of over ${MAX_EVENT} characters`);
  }
}

function readEvent(text: string): ServerSentEvent | undefined {
  const data: string[] = [];
  let event = 'message';
  let id: string | undefined;
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const field = line.slice(0, colon);
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') event = value;
    else if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 ? undefined : { event, data: data.join('\n'), id };
}
