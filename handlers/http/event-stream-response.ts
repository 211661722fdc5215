import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import type { EventStreamOptions } from '#core/runs/event-log.ts';
import type { Services } from '../services.ts';

/** The id of an event, a number. Nine digits exceed any timeline. */
export const EventId = z
  .string()
  .regex(/^\d{1,9}$/, 'must be the id of an event')
  .transform(Number);

/** Keeps proxies from closing an idle stream, and detects dead connections. */
const QUIET_MS = 15_000;
/** The client then reconnects, and its credential is verified again. */
const LONGEST_MS = 3_600_000;

/** The first frame: the client's reconnect delay. */
export const FIRST_FRAME = 'retry: 1000\n\n';
export const QUIET_FRAME = ': heartbeat\n\n';

export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

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
    headers,
    query,
    signal,
  }: {
    readonly headers: Readonly<Record<string, string | undefined>>;
    readonly query: Position | undefined;
    readonly signal: AbortSignal | undefined;
  },
): EventStreamOptions<Position> {
  return {
    id,
    after: lastEventId(headers['last-event-id'], position.schema) ?? query ?? position.first,
    quietMs: QUIET_MS,
    until: new Date(clock.now().getTime() + LONGEST_MS),
    signals: [signal, stopping],
  };
}

/** Positions of logs with numbered events. */
export const NUMBERED = { schema: EventId, first: 0 };

function lastEventId<Position>(
  header: string | undefined,
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
