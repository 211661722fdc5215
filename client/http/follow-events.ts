import type { Call, HttpClient } from './http-client.ts';
import { parseObject } from './parse-object.ts';
import { PortholeError } from './porthole-error.ts';
import { wait } from './wait.ts';
import { readEvents } from '../streams/read-events.ts';
import { type ServerSentEvent, SseParser } from '../streams/sse-parser.ts';

/** One event; `id` is where to resume. */
export interface FollowedEvent {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface FollowOptions {
  /** Id of the last known event. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Reconnect delay in milliseconds, if the stream sends none. */
const RETRY_MS = 1_000;
/** Consecutive failures before it gives up. */
const MAX_FAILURES = 8;

/**
 * Follows an event stream of the API while it is read. Reconnects after a loss, without gaps or
 * repeats.
 * @throws PortholeError if it is refused, or unreachable for long
 */
export async function* followEvents(
  http: HttpClient,
  path: string,
  options?: FollowOptions,
): AsyncGenerator<FollowedEvent, void> {
  for await (const { id, event, data } of followStream(http, path, {}, options)) {
    yield { type: event, ...parseObject(data), id };
  }
}

/** Like `followEvents`, for events that are not JSON. */
export async function* followStream(
  http: HttpClient,
  path: string,
  query: NonNullable<Call['query']>,
  { after, signal }: FollowOptions = {},
): AsyncGenerator<ServerSentEvent, void> {
  let last = after ?? '';
  let failures = 0;
  for (;;) {
    const parser = new SseParser();
    try {
      const response = await http.send(`GET ${path}`, {
        query,
        headers: { accept: 'text/event-stream', 'last-event-id': last === '' ? undefined : last },
        signal,
      });
      for await (const event of readEvents(response, { parser, signal })) {
        failures = 0;
        if (event.id !== '') last = event.id;
        yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      failures += 1;
      if (!(error instanceof PortholeError) || !error.retryable || failures >= MAX_FAILURES) throw error;
    }
    await wait(parser.retryMs ?? RETRY_MS, signal);
  }
}
