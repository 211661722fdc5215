/** A guest's responses are untrusted: any code may answer in its place. Bounds size and time. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { MAX_JSON } from '#guest/protocol/http-protocol.ts';
import { PortholeError } from '../errors.ts';
import type { GuestAnswer } from '../sandboxes/sandbox-provider.ts';
import { readAtMost } from '../shared/reads.ts';

/**
 * How long a guest may take to answer, in ms. It usually takes 1 ms; a busy machine may need a
 * second to start one.
 */
export const ANSWER_WITHIN = 10_000;

/** Any schema of `guest/protocol`. */
export interface AnswerSchema<T> {
  parse(value: unknown): T;
}

/** The error for a connection to the guest that violates the protocol. */
export function guestFailure(sandboxId: string, what: string, cause?: unknown): PortholeError {
  return new PortholeError('exec_transport_error', `Sandbox ${sandboxId}: ${what}.`, {
    remedy: 'Try again; if it stays so, stop and resume the sandbox.',
    cause,
  });
}

/**
 * The whole body as text. @throws PortholeError `exec_transport_error` if it is truncated, too
 * long or too slow
 */
export async function textAnswer(
  answer: GuestAnswer,
  sandboxId: string,
  { limit = MAX_JSON, within = ANSWER_WITHIN }: { readonly limit?: number; readonly within?: number } = {},
): Promise<string> {
  const timer = setTimeout(() => answer.destroy(new Error('too slow')), within);
  try {
    const body = await readAtMost(answer, limit);
    if (body === undefined) throw new Error(`an answer of over ${limit} bytes`);
    return body.toString();
  } catch (error) {
    throw guestFailure(sandboxId, 'the answer of its guest was cut', error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A body without text is `undefined` to the schema.
 * @throws PortholeError `exec_transport_error` for a body that does not fit the schema, and as
 * `textAnswer` does
 */
export async function jsonAnswer<T>(
  answer: GuestAnswer,
  sandboxId: string,
  schema: AnswerSchema<T>,
  within?: number,
): Promise<T> {
  const text = await textAnswer(answer, sandboxId, { ...(within !== undefined && { within }) });
  try {
    return schema.parse(text === '' ? undefined : JSON.parse(text));
  } catch (error) {
    throw guestFailure(sandboxId, 'its guest breaks the protocol', error);
  }
}

/**
 * Server-sent events, until the guest or the signal ends them. @throws PortholeError
 * `exec_transport_error`
 */
export async function* eventsAnswer(
  answer: GuestAnswer,
  sandboxId: string,
  signal?: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  try {
    yield* readEvents(answer);
    if (!answer.complete) throw new Error('the stream was cut');
  } catch (error) {
    signal?.throwIfAborted();
    throw guestFailure(sandboxId, 'the connection to its guest was lost', error);
  } finally {
    answer.destroy();
  }
}

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

/** @throws Error on an event that is too long, and what the source fails with */
async function* readEvents(source: Readable): AsyncGenerator<ServerSentEvent> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of source as AsyncIterable<Buffer>) {
    rest += decoder.write(chunk);
    let begin = 0;
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n', begin)) {
      const event = readEvent(rest.slice(begin, end));
      begin = end + 2;
      if (event !== undefined) yield event;
    }
    rest = rest.slice(begin);
    if (rest.length > MAX_EVENT) throw new Error(`an event of over ${MAX_EVENT} characters`);
  }
}

/** Undefined for a comment, which keeps a connection alive. */
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
