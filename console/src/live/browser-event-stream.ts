import { readStream } from '../../../client/streams/byte-streams.ts';
import { type ServerSentEvent, SseParser } from '../../../client/streams/sse-parser.ts';

export interface FollowOptions {
  readonly onEvent: (event: ServerSentEvent) => void;
  /** Id of the last known event. @default none */
  readonly after?: string;
  /** Called with whether it is connected. */
  readonly onState?: (live: boolean) => void;
  readonly signal: AbortSignal;
  readonly fetch?: (address: string, init: RequestInit) => Promise<Response>;
  readonly pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 15_000;

/**
 * Follows a stream until the signal aborts. Reconnects with the last event id, so that no event is
 * lost or repeated. Ends on 401 and 403.
 */
export async function followEvents(
  address: string,
  {
    onEvent,
    after = '',
    onState = () => undefined,
    signal,
    fetch: ask = (url, init) => fetch(url, init),
    pause = wait,
  }: FollowOptions,
): Promise<void> {
  let last = after;
  let asked = FIRST_PAUSE_MS;
  let next = asked;
  while (!signal.aborted) {
    try {
      const response = await ask(address, {
        headers: { accept: 'text/event-stream', ...(last === '' ? {} : { 'last-event-id': last }) },
        signal,
      });
      if (response.status >= 400 && response.status < 500 && response.status !== 429) return;
      if (response.ok && response.body !== null) {
        onState(true);
        next = asked;
        const parser = new SseParser();
        for await (const chunk of readStream(response.body)) {
          for (const event of parser.push(chunk)) {
            if (event.id !== '') last = event.id;
            onEvent(event);
          }
          asked = parser.retryMs ?? asked;
          next = asked;
        }
      }
    } catch {
      // Reconnects after any failure.
    }
    onState(false);
    if (signal.aborted) return;
    await pause(next, signal);
    next = Math.min(next * 2, MAX_PAUSE_MS);
  }
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end);
  });
}
