import { z } from 'zod';
import {
  followOutput,
  type OutputEvent,
  type OutputRange,
  type StartedRef,
} from '#core/processes/sandbox-processes.ts';
import { anySignal } from '#base/concurrency.ts';
import {
  errorFrame,
  eventStream,
  frame,
  lastEventId,
  MAX_STREAM_MS,
  QUIET_FRAME,
} from '../http/event-stream-response.ts';
import type { HttpEvent, HttpResponse } from '../http/http-event.ts';
import { queryFlag } from '../http/read-input.ts';
import type { Services } from '../services.ts';

export const Cursor = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a cursor: the id of an event')
  .transform(Number);

export const outputQuery = z.object({
  since: Cursor.optional().describe('A cursor: output starts after it. `Last-Event-ID` takes precedence'),
  follow: queryFlag().describe('Stream new output until the exit'),
});

/** @throws PortholeError `invalid_request` */
export function cursorOf(headers: HttpEvent['headers'], since: number | undefined): number | undefined {
  return lastEventId(headers, Cursor) ?? since;
}

export const OUTPUT_DESCRIPTION =
  'Server-sent events: `stdout` and `stderr` (base64), `cut` `{"bytes"}` where the ring buffer dropped bytes, `exit`. The `id` of an event is the cursor after it: ' +
  '`since`, or the header `Last-Event-ID`, resumes there without loss. Without `follow` the stream ends with the current output. A lost connection to the sandbox is an `error` event. The stream ends after an hour: reconnect with the cursor.';

/**
 * Output as an event stream. A slow reader slows the reads from the guest, so memory is bounded.
 * @param toFrame makes the frames of another API
 */
export async function outputResponse(
  services: Services,
  ref: StartedRef,
  range: OutputRange,
  toFrame = outputFrame,
): Promise<HttpResponse> {
  const over = anySignal(AbortSignal.timeout(MAX_STREAM_MS), services.stopping, ref.signal);
  return eventStream(frames(await followOutput(services, { ...ref, signal: over }, range), over, toFrame));
}

/** Clients that read lines rely on the name before the id. */
function outputFrame({ event, data, id }: OutputEvent): string {
  return frame(id === undefined ? event : `${event}\nid: ${id}`, data);
}

async function* frames(
  events: AsyncIterable<OutputEvent | undefined>,
  over: AbortSignal,
  toFrame: (event: OutputEvent) => string,
): AsyncGenerator<string> {
  try {
    yield ': output\n\n';
    for await (const event of events) yield event === undefined ? QUIET_FRAME : toFrame(event);
  } catch (error) {
    if (!over.aborted) yield errorFrame(error, 'connect again at the last cursor.');
  }
}
