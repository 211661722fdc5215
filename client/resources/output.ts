import { followStream } from '../http/follow-events.ts';
import type { Call, HttpClient } from '../http/http-client.ts';
import { parseObject } from '../http/parse-object.ts';
import { invalidAnswer, type PortholeError } from '../http/porthole-error.ts';
import { fromBase64 } from '../streams/from-base64.ts';
import { readEvents } from '../streams/read-events.ts';
import type { ServerSentEvent } from '../streams/sse-parser.ts';
import type { CallOptions } from './files.ts';
import type { ProcessExit } from './process-info.ts';

/** A piece of output. `cursor` is the position after it: `since` resumes there. */
export type OutputEvent =
  | { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array; readonly cursor: number }
  /** This many bytes before the next event are no longer available. */
  | { readonly type: 'cut'; readonly bytes: number; readonly cursor: number }
  | { readonly type: 'exit'; readonly exit: ProcessExit; readonly cursor: number };

export interface OutputOptions extends CallOptions {
  /** A cursor of an earlier event. @default all available output */
  readonly since?: number | undefined;
  /** Whether to continue with new output. @default true */
  readonly follow?: boolean | undefined;
}

/**
 * Output from a cursor on. With `follow`, a lost connection is reopened at the last cursor: no byte
 * is missing or repeated.
 */
export async function* readOutput(
  http: HttpClient,
  path: string,
  query: NonNullable<Call['query']>,
  { since, follow = true, signal }: OutputOptions,
): AsyncGenerator<OutputEvent, void> {
  const asked = { ...query, follow };
  if (follow) {
    const after = since === undefined ? undefined : String(since);
    for await (const event of followStream(http, path, asked, { after, signal })) yield read(event);
    return;
  }
  const response = await http.send(`GET ${path}`, {
    query: { ...asked, since },
    headers: { accept: 'text/event-stream' },
    signal,
  });
  for await (const event of readEvents(response, { signal })) yield read(event);
}

function read({ event, data, id }: ServerSentEvent): OutputEvent {
  const cursor = Number(id);
  try {
    if (event === 'stdout' || event === 'stderr') return { type: event, data: fromBase64(data), cursor };
  } catch (cause) {
    throw invalid('its output is not base64', cause);
  }
  const fields = parseObject(data);
  if (event === 'cut' && typeof fields['bytes'] === 'number') {
    return { type: 'cut', bytes: fields['bytes'], cursor };
  }
  if (event === 'exit' && typeof fields['reason'] === 'string') {
    return { type: 'exit', exit: fields as unknown as ProcessExit, cursor };
  }
  throw invalid(`unknown event ${JSON.stringify(event.slice(0, 40))}`);
}

function invalid(why: string, cause?: unknown): PortholeError {
  return invalidAnswer(`The output of a process cannot be read: ${why}. Read it again.`, cause);
}
