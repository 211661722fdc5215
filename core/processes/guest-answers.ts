/** A guest's responses are untrusted: any code may answer in its place. Bounds size and time. */
import { MAX_JSON } from '#guest/protocol/http-protocol.ts';
import { PortholeError } from '../errors.ts';
import type { GuestAnswer } from '../sandboxes/sandbox-provider.ts';
import { readAtMost } from '../shared/reads.ts';
import { type ServerSentEvent, serverSentEvents } from '../shared/server-sent-events.ts';

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
 * Server-sent events, until the guest or the signal ends them; undefined: a heartbeat. @throws
 * PortholeError `exec_transport_error`
 */
export async function* eventsAnswer(
  answer: GuestAnswer,
  sandboxId: string,
  signal?: AbortSignal,
): AsyncGenerator<ServerSentEvent | undefined> {
  try {
    yield* serverSentEvents(answer);
    if (!answer.complete) throw new Error('the stream was cut');
  } catch (error) {
    signal?.throwIfAborted();
    throw guestFailure(sandboxId, 'the connection to its guest was lost', error);
  } finally {
    answer.destroy();
  }
}
