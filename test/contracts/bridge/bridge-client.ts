import { request, type IncomingHttpHeaders } from 'node:http';

/** A bridge that runs on a port of 127.0.0.1, and its key. */
export interface Bridge {
  readonly port: number;
  readonly key: string;
}

export interface BridgeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  json<T = Record<string, unknown>>(): T;
}

export interface BridgeCall {
  readonly json?: unknown;
  readonly body?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default the bridge's key; null: none */
  readonly key?: string | null;
}

/** One request; the path is sent unchanged. */
export function ask(
  bridge: Bridge,
  method: string,
  path: string,
  { json, body, headers = {}, key = bridge.key }: BridgeCall = {},
): Promise<BridgeAnswer> {
  const payload = json === undefined ? body : JSON.stringify(json);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: bridge.port,
        method,
        path,
        agent: false,
        headers: {
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...(payload === undefined ? {} : { 'content-length': Buffer.byteLength(payload) }),
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const whole = Buffer.concat(chunks);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: whole,
            json: <T>() => JSON.parse(whole.toString()) as T,
          });
        });
      },
    );
    outgoing.once('error', reject);
    outgoing.end(payload);
  });
}

/** The result of a command. `last` is its terminal event. */
export interface Ran {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly code: number | undefined;
  readonly last: { readonly event: string; readonly data: string };
}

export interface RunOptions {
  readonly timeout_ms?: number;
  readonly cwd?: string;
  readonly session?: string;
  readonly key?: string;
}

/**
 * Runs a command to its end. Every event must have the bridge's form, and exactly one ends the
 * stream.
 */
export async function run(
  bridge: Bridge,
  id: string,
  argv: readonly string[],
  { session, key, ...more }: RunOptions = {},
): Promise<Ran> {
  const answer = await ask(bridge, 'POST', `/v1/sandbox/${id}/exec`, {
    json: { argv, ...more },
    ...(key === undefined ? {} : { key }),
    ...(session === undefined ? {} : { headers: { 'session-id': session } }),
  });
  if (answer.status !== 200) throw new Error(`no exec: ${answer.status} ${answer.body.toString()}`);
  return readRun(answer.body.toString());
}

export function readRun(text: string): Ran {
  const frames = text.split('\n\n').filter((frame) => !frame.startsWith(':'));
  if (frames.pop() !== '') throw new Error(`the stream ends in the middle of an event: ${text.slice(-80)}`);
  const events = frames.map((frame) => {
    const [, event = '', data = ''] = /^event: (stdout|stderr|exit|error)\ndata: ([^\n]*)$/.exec(frame) ?? [];
    if (event === '') throw new Error(`no event: ${JSON.stringify(frame.slice(0, 200))}`);
    return { event, data };
  });
  const last = events.pop();
  if (last === undefined || !['exit', 'error'].includes(last.event)) throw new Error('the stream has no end');
  const bytes = (name: string) =>
    Buffer.concat(
      events.filter(({ event }) => event === name).map(({ data }) => Buffer.from(data, 'base64')),
    );
  if (events.some(({ event }) => event === 'exit' || event === 'error')) throw new Error('two ends');
  return {
    stdout: bytes('stdout'),
    stderr: bytes('stderr'),
    code: last.event === 'exit' ? (JSON.parse(last.data) as { exit_code: number }).exit_code : undefined,
    last,
  };
}

/** Creates a sandbox and returns its id. */
export async function create(bridge: Bridge): Promise<string> {
  const answer = await ask(bridge, 'POST', '/v1/sandbox');
  if (answer.status !== 200) throw new Error(`no sandbox: ${answer.status} ${answer.body.toString()}`);
  return answer.json<{ id: string }>().id;
}

export async function put(
  bridge: Bridge,
  id: string,
  path: string,
  bytes: Buffer | string,
): Promise<BridgeAnswer> {
  return ask(bridge, 'PUT', `/v1/sandbox/${id}/file/${path}`, { body: bytes });
}

export async function get(bridge: Bridge, id: string, path: string): Promise<BridgeAnswer> {
  return ask(bridge, 'GET', `/v1/sandbox/${id}/file/${path}`);
}

/** Status and error of a refusal. */
export function refusal(answer: BridgeAnswer): readonly [number, string, string] {
  const { error, code } = answer.json<{ error: string; code: string }>();
  return [answer.status, code, error];
}
