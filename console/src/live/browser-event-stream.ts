/** One event of a stream of server-sent events. */
export interface StreamEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

/** Parses server-sent events from chunks of any size. Reports `retry`, ignores comments. */
export function createEventParser(onRetry: (milliseconds: number) => void = () => undefined) {
  let rest = '';
  let id = '';
  let type = '';
  let data: string[] = [];
  return (piece: string): StreamEvent[] => {
    const events: StreamEvent[] = [];
    const lines = (rest + piece).split(/\r\n|\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) events.push({ id, type: type === '' ? 'message' : type, data: data.join('\n') });
        type = '';
        data = [];
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const name = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (name === 'id') id = value;
      else if (name === 'event') type = value;
      else if (name === 'data') data.push(value);
      else if (name === 'retry' && /^\d+$/.test(value)) onRetry(Number(value));
    }
    return events;
  };
}

export interface FollowOptions {
  readonly onEvent: (event: StreamEvent) => void;
  /** Id of the last known event. @default none */
  readonly after?: string;
  /** Called with whether it is connected. */
  readonly onState?: (live: boolean) => void;
  readonly signal: AbortSignal;
  readonly fetch?: (address: string, init: RequestInit) => Promise<Response>;
  readonly pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

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
        const parse = createEventParser((milliseconds) => {
          asked = milliseconds;
          next = milliseconds;
        });
        const text = response.body.pipeThrough(new TextDecoderStream());
        const reader = text.getReader();
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
          for (const event of parse(read.value)) {
            if (event.id !== '') last = event.id;
            onEvent(event);
          }
        }
      }
    } catch {
      // Reconnects after any failure.
    }
    onState(false);
    if (signal.aborted) return;
    await pause(next, signal);
    next = Math.min(next * 2, LONGEST_PAUSE_MS);
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
