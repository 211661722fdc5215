import { parseObject } from '../http/parse-object.ts';
import { invalidAnswer, PortholeError } from '../http/porthole-error.ts';
import { readStream } from './byte-streams.ts';
import { type ServerSentEvent, SseParser } from './sse-parser.ts';

export interface ReadEventsOptions {
  /** Receives event ids and retry delays. */
  readonly parser?: SseParser;
  /** The signal of the request. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The events of a response, as they arrive.
 * @throws PortholeError the error that ends it; `invalid_answer` if it is not an event stream;
 * `unreachable` if it is cut off; the signal's reason
 */
export async function* readEvents(
  response: Response,
  { parser = new SseParser(), signal }: ReadEventsOptions = {},
): AsyncGenerator<ServerSentEvent, void> {
  const type = response.headers.get('content-type') ?? 'none';
  if (!/^text\/event-stream\b/i.test(type)) {
    await response.body?.cancel();
    throw invalid(response, `Porthole's answer has the type ${type}, and not text/event-stream`);
  }
  const chunks = readStream(response.body);
  try {
    for (;;) {
      const next = await chunks.next().catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw new PortholeError('The connection to Porthole was lost in the middle of an answer.', {
          status: 0,
          code: 'unreachable',
          cause,
        });
      });
      for (const event of parse(response, () =>
        next.done === true ? parser.end() : parser.push(next.value),
      )) {
        if (event.event === 'error') throw errorOf(event);
        yield event;
      }
      if (next.done === true) return;
    }
  } finally {
    await chunks.return();
  }
}

/** The failure of a response that had begun: its status was sent before. */
function errorOf({ data }: ServerSentEvent): PortholeError {
  const { error, code, retryable } = parseObject(data);
  const message = typeof error === 'string' ? error : 'Porthole ended the stream with an error. Try again.';
  return new PortholeError(message, {
    status: code === 'exec_error' ? 400 : 502,
    code: typeof code === 'string' ? code : 'stream_failed',
    retryable: typeof retryable === 'boolean' ? retryable : undefined,
  });
}

function parse(response: Response, read: () => ServerSentEvent[]): ServerSentEvent[] {
  try {
    return read();
  } catch (cause) {
    throw invalid(response, `Porthole's answer cannot be read: ${(cause as Error).message}`, cause);
  }
}

function invalid({ status }: Response, why: string, cause?: unknown): PortholeError {
  return invalidAnswer(`${why}: check the proxies on the way.`, cause, status);
}
