/**
 * A worker thread in place of the guest of a sandbox, and the clients that read its answers. In
 * each round all answers are of one kind of hostile stream, until the round ends.
 */
import { request } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { EXEC } from '#protocol/guest/exec-protocol.ts';
import { listenInFolder } from '#base/socket-path.ts';
import * as server from '#test/guest/support/web-socket-frames.ts';

export interface Reader {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Whether it asks for a WebSocket. */
  readonly isSocket?: boolean;
}

export interface HostileGuest {
  /** Where the socket of the guest is. */
  readonly folder: string;
  readonly port: number;
  readonly token: string;
  readonly readers: readonly Reader[];
}

/** `end`: what completes the answer; without it the block is sent again and again. */
interface Stream {
  readonly first?: string;
  readonly block: string;
  readonly end?: string;
}

const BLOCK = 65_536;
/** Between an answer and the next request of its reader. */
const AGAIN_MS = 50;
const repeated = (text: string, bytes = BLOCK): string => text.repeat(Math.ceil(bytes / text.length));
const AT = '2026-01-01T00:00:00Z';
const LISTENER = {
  port: 3000,
  address: '::',
  pid: 1,
  program: 'a',
  command: null,
  process_id: null,
  server: null,
  since: AT,
};
const PORT = JSON.stringify({ port: 3000, state: 'closed', at: AT, listener: null });
const FILE = { path: '/workspace/a', line: 1, text: '', type: 'file', size: 0, mtime: 0, mode: 0 };
const KEYS = Array.from({ length: 90_000 }, (_, at) => `"k${at}":1`).join(',');
const LISTS = (item: string, count: number): string =>
  JSON.stringify({ processes: 0, ports: 0, servers: 0, argv: 0, links: 0 }).replaceAll(
    ':0',
    `:[${Array<string>(count).fill(item).join(',')}]`,
  );

const isStream = (path: string): boolean => /\/(?:events|output|logs|watch)(?:\?|$)/.test(path);
const isLines = (path: string): boolean => /^\/v1\/(?:list|search)\?/.test(path);

function item(path: string): string {
  if (path.startsWith('/v1/events')) return `event: port\ndata: ${PORT}\n\n`;
  if (path.startsWith('/v1/watch')) return 'data: {"type":"changed","path":"/workspace/a"}\n\n';
  if (isStream(path)) return 'event: stdout\nid: 1\ndata: YQ==\n\n';
  return isLines(path) ? `${JSON.stringify(FILE)}\n` : `${JSON.stringify(LISTENER)},`;
}

const KINDS: Readonly<Record<string, (path: string) => Stream>> = {
  newlines: () => ({ block: repeated('\n') }),
  'deep JSON': (path) => ({ first: isStream(path) ? 'data: ' : '', block: repeated('[') }),
  'lines of a megabyte': (path) => ({ block: `${isStream(path) ? 'data: ' : ''}${'x'.repeat(1 << 20)}\n` }),
  'wrong types': (path) =>
    isStream(path)
      ? { block: repeated('event: port\ndata: {}\n\n') }
      : isLines(path)
        ? { block: repeated('{}\n') }
        : { block: LISTS('{}', 18_000), end: '' },
  'wrong items': (path) => ({ block: isLines(path) ? repeated('1\n') : LISTS('1', 18_000), end: '' }),
  keys: (path) =>
    isStream(path) ? { block: `event: port\ndata: {${KEYS}}\n\n` } : { block: `{${KEYS}}\n`, end: '' },
  'small items': (path) => ({
    first: isStream(path) || isLines(path) ? '' : '{"ports":[',
    block: repeated(item(path)),
  }),
  'half lines': (path) => ({ block: item(path).slice(0, 20).repeat(3_000).replaceAll('\n', '') }),
  'empty events': () => ({ block: repeated(':\n\n') }),
};

/** As they are sent, without the form of a body. */
const RAW: Readonly<Record<string, string>> = {
  'pieces of a byte': `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${repeated('1\r\n:\r\n')}`,
  'interim responses': repeated('HTTP/1.1 103 Early Hints\r\n\r\n'),
};

const frames = (...all: readonly Buffer[]): Buffer =>
  Buffer.concat(Array.from({ length: 4_000 }, () => all).flat());
const small = frames(server.binary(EXEC.stdout, 'a'), server.binary(EXEC.stderr, 'b'));
const FRAMES: Readonly<Record<string, Buffer>> = {
  newlines: frames(server.binary(EXEC.stdout)),
  'wrong types': frames(server.binary(EXEC.window, Buffer.alloc(4))),
  'empty events': frames(server.binary(EXEC.started)),
  'lines of a megabyte': server.binary(EXEC.stdout, Buffer.alloc(1_000_000, 'x')),
};
const PROCESS = {
  id: 'x',
  name: null,
  argv: ['a'],
  cwd: '/',
  state: 'running',
  pid: 1,
  stdin: false,
  tty: null,
  timeout_ms: null,
  started_by: { kind: 'sandbox', id: null },
  started_at: AT,
  exit: null,
  output: { first: 0, next: 9 },
};

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

function pour(socket: Socket, first: Buffer | string, block: Buffer): void {
  socket.write(first);
  const more = (): void => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('drain', more);
  more();
}

function answer(socket: Socket, kind: string, head: string): void {
  const path = head.split(' ')[1] ?? '';
  const raw = RAW[kind];
  if (path === '/v1/exec') {
    pour(socket, server.switched(head), Buffer.concat([server.binary(EXEC.started), FRAMES[kind] ?? small]));
  } else if (/^GET \/v1\/processes\/[^/ ]+ /.test(head)) {
    const body = JSON.stringify(PROCESS);
    socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  } else if (raw !== undefined) pour(socket, '', Buffer.from(raw));
  else {
    const { first = '', block, end } = KINDS[kind]?.(path) ?? { block: ' ' };
    const begin = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${first && chunk(first)}`;
    if (end === undefined) pour(socket, begin, Buffer.from(chunk(block)));
    else socket.end(`${begin}${chunk(block + end)}0\r\n\r\n`);
  }
}

async function serve({ folder, port, token, readers }: HostileGuest): Promise<void> {
  let kind = '';
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    socket.once('data', (head) => answer(socket, kind, head.toString('latin1')));
  });
  await listenInFolder(listener, folder, 'guest.sock');
  let round = new AbortController();
  const begin = (reader: Reader): void => {
    const { method, path, body, isSocket = false } = reader;
    const asking = request({
      host: '127.0.0.1',
      port,
      method,
      path,
      agent: false,
      signal: round.signal,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(isSocket && {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        }),
      },
    });
    const { signal } = round;
    // As long as the round lasts, each answer is followed by another.
    const again = (): void => void setTimeout(() => signal.aborted || begin(reader), AGAIN_MS);
    asking.on('response', (response) =>
      response
        .on('error', () => undefined)
        .resume()
        .on('end', again),
    );
    asking.on('upgrade', (_response, socket) => {
      signal.addEventListener('abort', () => socket.destroy());
      socket.on('error', () => undefined).resume();
    });
    asking.on('error', () => undefined).end(body === undefined ? undefined : JSON.stringify(body));
  };
  parentPort?.on('message', (next: string) => {
    round.abort();
    for (const socket of sockets) socket.destroy();
    kind = next;
    round = new AbortController();
    if (next !== '') readers.forEach(begin);
  });
  parentPort?.postMessage([...Object.keys(KINDS), ...Object.keys(RAW)], []);
}

const given = workerData as { readonly hostileGuest?: HostileGuest } | null;
if (given?.hostileGuest !== undefined) await serve(given.hostileGuest);
