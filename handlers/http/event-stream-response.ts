import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { EventStreamOptions } from '#core/runs/event-log.ts';
import { later } from '#base/clock-and-ids.ts';
import type { Services } from '../services.ts';
import { admittedOwner } from './admit.ts';
import type { HttpEvent, HttpResponse } from './http-event.ts';

/** The id of an event, a number. Nine digits exceed any timeline. */
export const EventId = z
  .string()
  .regex(/^\d{1,9}$/, 'must be the id of an event')
  .transform(Number);

/** Keeps proxies from closing an idle stream, and detects dead connections. */
const QUIET_MS = 15_000;
/** The client then reconnects, and its credential is verified again. */
export const MAX_STREAM_MS = 3_600_000;

/** The first frame: the client's reconnect delay. */
export const FIRST_FRAME = 'retry: 1000\n\n';
export const QUIET_FRAME = ': heartbeat\n\n';

/** @param body frames; a generator runs as fast as they are read */
export function eventStream(
  body: Readable | AsyncGenerator<string> | string,
  headers: Record<string, string> = {},
): HttpResponse {
  return {
    statusCode: 200,
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      ...headers,
    },
    body: typeof body === 'string' || body instanceof Readable ? body : Readable.from(body),
  };
}

/** @param id where the stream resumes after this event, if it can */
export function frame(event: string, data: string, id?: string | number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}

/**
 * An error after the response has begun.
 * @param remedy after a lost connection to the sandbox
 */
export function errorFrame(error: unknown, remedy: string): string {
  const known =
    error instanceof PortholeError
      ? error
      : new PortholeError('exec_transport_error', `The connection to the sandbox was lost: ${remedy}`);
  const { message, shownCode: code, retryable } = known;
  return frame('error', JSON.stringify({ error: message, code, retryable }));
}

/**
 * Where a client's stream resumes, and for how long.
 * @param query `after` of the query; the header wins
 * @throws PortholeError `invalid_request`
 */
export function followingOf<Position>(
  { clock, stopping }: Pick<Services, 'clock' | 'stopping'>,
  id: string,
  position: { readonly schema: z.ZodType<Position>; readonly first: Position },
  {
    caller,
    headers,
    query,
    signal,
  }: {
    readonly caller: Caller;
    readonly headers: HttpEvent['headers'];
    readonly query: Position | undefined;
    readonly signal: AbortSignal | undefined;
  },
): EventStreamOptions<Position> {
  return {
    id,
    turnOwner: admittedOwner(caller),
    after: lastEventId(headers, position.schema) ?? query ?? position.first,
    quietMs: QUIET_MS,
    until: later(clock, MAX_STREAM_MS),
    signals: [signal, stopping],
  };
}

/** Positions of logs with numbered events. */
export const NUMBERED = { schema: EventId, first: 0 };

/**
 * The header `Last-Event-ID`, which a client sends when it reconnects.
 * @throws PortholeError `invalid_request`
 */
export function lastEventId<Position>(
  { 'last-event-id': header }: HttpEvent['headers'],
  schema: z.ZodType<Position>,
): Position | undefined {
  if (header === undefined || header === '') return undefined;
  const { success, data } = schema.safeParse(header);
  if (success) return data;
  throw new PortholeError(
    'invalid_request',
    `Last-Event-ID: must be the id of an event, got ${JSON.stringify(header.slice(0, 40))}.`,
  );
}
