/** The client: one process that runs one measurement at a time and responds with its figure. */
import { connect } from 'node:net';
import { once } from 'node:events';
import autocannon from 'autocannon';
import { WebSocket } from 'ws';
import { BODY_BYTES } from './body.ts';

export interface LoadTask {
  readonly kind: 'json' | 'download' | 'upload' | 'websocket';
  readonly port: number;
  readonly host: string;
  /** Seconds of small requests, or the number of WebSocket round trips. */
  readonly amount: number;
  /** Path of small requests; default `/`. */
  readonly path?: string;
  /** Bearer token of small requests. */
  readonly token?: string;
}

process.on('message', (task: LoadTask) => {
  void run(task).then((figure) => process.send?.(figure));
});
process.send?.('ready');

/** Requests per second, bytes per second, or microseconds per round trip (median). */
async function run({ kind, port, host, amount, path, token }: LoadTask): Promise<number> {
  switch (kind) {
    case 'json':
      return json(port, amount, path, {
        host,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      });
    case 'download':
      return download(port, host);
    case 'upload':
      return upload(port, host);
    case 'websocket':
      return roundTrips(port, host, amount);
    default:
      return kind satisfies never;
  }
}

async function json(
  port: number,
  seconds: number,
  path = '/',
  headers: Record<string, string> = {},
): Promise<number> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}${path}`,
    connections: 32,
    duration: seconds,
    // No measurement is shorter.
    sampleInt: 100,
    headers,
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${result.non2xx} answers were not 2xx and ${result.errors} requests failed`);
  }
  return result.requests.total / result.duration;
}

async function download(port: number, host: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const start = performance.now();
  socket.write(`GET /body HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  let left = BODY_BYTES;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    left -= chunk.length;
    // The head adds a few hundred bytes.
    if (left <= 0) break;
  }
  if (left > 0) throw new Error(`${left} bytes of the body are missing`);
  return BODY_BYTES / ((performance.now() - start) / 1_000);
}

async function upload(port: number, host: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const block = Buffer.alloc(64 * 1024, 0x61);
  const start = performance.now();
  socket.write(`PUT /upload HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`);
  for (let left = BODY_BYTES; left > 0; left -= block.length) {
    if (!socket.write(block)) await once(socket, 'drain');
  }
  const [answer] = (await once(socket, 'data')) as [Buffer];
  const seconds = (performance.now() - start) / 1_000;
  socket.destroy();
  if (!answer.toString().startsWith('HTTP/1.1 200')) throw new Error(answer.toString());
  return BODY_BYTES / seconds;
}

async function roundTrips(port: number, host: string, count: number): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host }, perMessageDeflate: false });
  await once(socket, 'open');
  const times: number[] = [];
  for (let trip = 0; trip < count; trip += 1) {
    const start = performance.now();
    socket.send('ping');
    await once(socket, 'message');
    times.push((performance.now() - start) * 1_000);
  }
  socket.terminate();
  times.sort((a, b) => a - b);
  return times[times.length >> 1] as number;
}
