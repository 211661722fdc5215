import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

/** One frame of an event stream: its fields, or a comment. */
export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
  readonly comment?: string;
}

export interface EventStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The next frame; undefined once the stream has ended. */
  next(): Promise<Frame | undefined>;
  /** Disconnects before the end. */
  leave(): void;
}

/** Reads an event stream frame by frame, by POST if there is a body. Throws on an invalid line. */
export async function openEventStream(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: object,
): Promise<EventStream> {
  const method = body === undefined ? 'GET' : 'POST';
  const outgoing = request({ host: '127.0.0.1', port, method, path, agent: false, headers });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
    outgoing.end(body && JSON.stringify(body));
  });
  outgoing.on('error', () => undefined);
  response.setEncoding('utf8');
  const frames = readFrames(response);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    async next() {
      const { done, value } = await frames.next();
      return done === true ? undefined : value;
    },
    leave: () => outgoing.destroy(),
  };
}

async function* readFrames(response: AsyncIterable<string>): AsyncGenerator<Frame, undefined> {
  let text = '';
  for await (const chunk of response) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      yield parse(text.slice(0, end));
      text = text.slice(end + 2);
    }
  }
  if (text !== '') throw new Error(`the stream ends in the middle of a frame: ${text}`);
}

function parse(frame: string): Frame {
  const fields: Record<string, string> = {};
  for (const line of frame.split('\n')) {
    const [, name, value] = /^(id|event|data|retry|): (.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw new Error(`not a line of an event stream: ${JSON.stringify(line)}`);
    fields[name === '' ? 'comment' : name] = value;
  }
  return fields;
}
