import { z } from 'zod';
import type { OutputEvent } from '#core/processes/follow-output.ts';
import {
  errorFrame,
  eventStream,
  frame,
  lastEventId,
  LONGEST_STREAM_MS,
  QUIET_FRAME,
} from '../http/event-stream-response.ts';
import type { HttpEvent, HttpResponse } from '../http/http-event.ts';
import { queryFlag } from '../http/read-input.ts';

/** Heartbeat interval of a silent stream, in milliseconds; 15 s are promised. */
const HEARTBEAT_MS = 14_000;

const Cursor = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a cursor: the id of an event')
  .transform(Number);

export const outputQuery = z.object({
  since: Cursor.optional().describe('A cursor: output begins behind it. `Last-Event-ID` wins'),
  follow: queryFlag().describe('Goes on with what comes, until the exit'),
});

/** @throws PortholeError `invalid_request` */
export function cursorOf(headers: HttpEvent['headers'], since: number | undefined): number | undefined {
  return lastEventId(headers, Cursor) ?? since;
}

export const OUTPUT_DESCRIPTION =
  'Server-sent events: `stdout` and `stderr` (base64), `cut` `{"bytes"}` where bytes are gone that the ring no longer keeps, `exit`. The `id` of an event is the cursor behind it: ' +
  '`since`, or the header `Last-Event-ID`, goes on there without loss. Without `follow` the stream ends behind what there is. A connection to the sandbox that breaks is an `error` event. It ends after an hour: connect again at the cursor.';

/**
 * Output as an event stream. A slow reader slows the reads from the guest, so memory is bounded.
 */
export function outputResponse(events: AsyncIterable<OutputEvent>, stopping: AbortSignal): HttpResponse {
  return eventStream(frames(events, stopping));
}

async function* frames(source: AsyncIterable<OutputEvent>, stopping: AbortSignal): AsyncGenerator<string> {
  const events = source[Symbol.asyncIterator]();
  const ended = AbortSignal.any([stopping, AbortSignal.timeout(LONGEST_STREAM_MS)]);
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
      // Clients that read lines rely on the name before the id.
      yield frame(id === undefined ? event : `${event}\nid: ${id}`, data);
    }
  } catch (error) {
    yield errorFrame(error, 'connect again at the last cursor.');
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
