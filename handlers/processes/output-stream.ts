import { Readable } from 'node:stream';
import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import type { OutputEvent } from '#core/processes/follow-output.ts';
import { EVENT_STREAM_HEADERS, QUIET_FRAME } from '../http/event-stream-response.ts';
import type { HttpResponse } from '../http/http-event.ts';

/** Heartbeat interval of a silent stream, in milliseconds; 15 s are promised. */
const HEARTBEAT_MS = 14_000;
/** After this time the client reconnects at its cursor, and its credential is validated again. */
const LONGEST_MS = 3_600_000;

const Cursor = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a cursor: the id of an event')
  .transform(Number);

export const outputQuery = z.object({
  since: Cursor.optional().describe('A cursor: output begins behind it. `Last-Event-ID` wins'),
  follow: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('Goes on with what comes, until the exit'),
});

/** @throws PortholeError `invalid_request` */
export function cursorOf(
  headers: Readonly<Record<string, string | undefined>>,
  since: number | undefined,
): number | undefined {
  const header = headers['last-event-id'];
  if (header === undefined || header === '') return since;
  const { success, data } = Cursor.safeParse(header);
  if (success) return data;
  throw new PortholeError(
    'invalid_request',
    `Last-Event-ID: must be the id of an event of this output, got ${JSON.stringify(header.slice(0, 40))}.`,
  );
}

export const OUTPUT_DESCRIPTION =
  'Server-sent events: `stdout` and `stderr` (base64), `cut` `{"bytes"}` where bytes are gone that the ring no longer keeps, `exit`. The `id` of an event is the cursor behind it: ' +
  '`since`, or the header `Last-Event-ID`, goes on there without loss. Without `follow` the stream ends behind what there is. A connection to the sandbox that breaks is an `error` event. It ends after an hour: connect again at the cursor.';

/**
 * Output as an event stream. A slow reader slows the reads from the guest, so memory is bounded.
 */
export function outputResponse(events: AsyncIterable<OutputEvent>, stopping: AbortSignal): HttpResponse {
  return {
    statusCode: 200,
    headers: { ...EVENT_STREAM_HEADERS },
    body: Readable.from(frames(events, stopping)),
  };
}

async function* frames(source: AsyncIterable<OutputEvent>, stopping: AbortSignal): AsyncGenerator<string> {
  const events = source[Symbol.asyncIterator]();
  const ended = AbortSignal.any([stopping, AbortSignal.timeout(LONGEST_MS)]);
  const over = new Promise<'over'>((resolve) => {
    if (ended.aborted) resolve('over');
    else ended.addEventListener('abort', () => resolve('over'), { once: true });
  });
  let next: Promise<IteratorResult<OutputEvent>> | undefined;
  try {
    yield ': output\n\n';
    for (;;) {
      next ??= events.next();
      const quiet = heartbeat();
      const came = await Promise.race([next, quiet.after, over]).finally(quiet.cancel);
      if (came === 'over') return;
      if (came === 'quiet') {
        yield QUIET_FRAME;
        continue;
      }
      next = undefined;
      if (came.done === true) return;
      const { event, data, id } = came.value;
      yield `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
    }
  } catch (error) {
    yield errorFrame(error);
  } finally {
    // A pending read ends with the request's signal; its failure is ignored.
    next?.catch(() => undefined);
    void events.return?.().catch(() => undefined);
  }
}

function heartbeat(): { readonly after: Promise<'quiet'>; readonly cancel: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const after = new Promise<'quiet'>((resolve) => {
    timer = setTimeout(() => resolve('quiet'), HEARTBEAT_MS).unref();
  });
  return { after, cancel: () => clearTimeout(timer) };
}

function errorFrame(error: unknown): string {
  const known = error instanceof PortholeError;
  const data = {
    error: known
      ? error.message
      : 'The connection to the sandbox was lost: connect again at the last cursor.',
    code: known ? error.shownCode : 'exec_transport_error',
    retryable: !known || error.retryable,
  };
  return `event: error\ndata: ${JSON.stringify(data)}\n\n`;
}
