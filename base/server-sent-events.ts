import type { Readable } from 'node:stream';
import { splitText } from './split-text.ts';

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

/** Lines of an event. */
const MAX_LINES = 64;

/**
 * Yields undefined for a comment, which keeps a connection alive. @throws Error on an event that is
 * too long or empty, and what the source fails with
 */
export async function* serverSentEvents(
  source: Readable,
): AsyncGenerator<ServerSentEvent | undefined, void, undefined> {
  for await (const text of splitText(source as AsyncIterable<Buffer>, '\n\n', MAX_EVENT))
    yield readEvent(text);
}

function readEvent(text: string): ServerSentEvent | undefined {
  if (text === '') throw new Error('an empty event');
  const data: string[] = [];
  let event = 'message';
  let id: string | undefined;
  const lines = text.split('\n', MAX_LINES + 1);
  if (lines.length > MAX_LINES) throw new Error(`an event of over ${MAX_LINES} lines`);
  for (const line of lines) {
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
