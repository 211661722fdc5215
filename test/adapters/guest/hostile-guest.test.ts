/** The host side against broken or hostile guests: a test server takes the guest's position. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type WebSocket, WebSocketServer } from 'ws';
import { EXEC } from '#protocol/guest/exec-protocol.ts';
import { guestHealth } from '#protocol/guest/answers.ts';
import { bytes, codeOf } from '#test/contracts/sandbox-provider.contract.ts';
import { freeBuffer } from '#base/free-buffer.ts';
import { AskingClient } from '#test/guest/support/asking-client.ts';
import * as server from '#test/guest/support/web-socket-frames.ts';

/** The answer to any upgrade but that of a WebSocket. */
const SWITCHED = server.switched('');
const STARTED = server.binary(EXEC.started);

let folder: string;
let listener: Server;
let client: AskingClient;
const open = new Set<Socket>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'porthole-hostile-guest-'));
  const path = join(folder, 'guest.sock');
  client = new AskingClient({
    sandboxId: 'abc',
    answerWithin: 200,
    connect: () =>
      new Promise((resolve, reject) => {
        const stream = connect({ path, allowHalfOpen: true }, () => resolve({ stream })).once(
          'error',
          reject,
        );
      }),
  });
});
afterEach(async () => {
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => listener.close(resolve));
  rmSync(folder, { recursive: true });
});

/** Listens in place of the guest. */
async function guest(behave: (socket: Socket, switched: Buffer) => void): Promise<void> {
  listener = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.once('data', (request) => behave(socket, server.switched(request.toString('latin1'))));
  });
  await new Promise<void>((resolve) => listener.listen(join(folder, 'guest.sock'), resolve));
}
const start = () => client.exec({ argv: ['x'], stdin: true });

test.each<[string, (socket: Socket, switched: Buffer) => void]>([
  ['never answers', () => {}],
  ['hangs up', (socket) => socket.destroy()],
  ['answers with noise', (socket) => socket.write('SSH-2.0-OpenSSH\r\n\r\n')],
  ['answers 200', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')],
  ['answers half a head', (socket, switched) => socket.write(switched.subarray(0, 20))],
  ['answers the handshake of another', (socket) => socket.write(Buffer.concat([SWITCHED, STARTED]))],
  ['answers with an endless head', (socket) => socket.write(`HTTP/1.1 101 x\r\n${'a: b\r\n'.repeat(5000)}`)],
  [
    'refuses in words that are no JSON',
    (socket) => socket.end('HTTP/1.1 500 x\r\ncontent-length: 1\r\n\r\nx'),
  ],
  [
    'refuses at great length',
    (socket) => socket.write('HTTP/1.1 500 x\r\ncontent-length: 999999999\r\n\r\nx'),
  ],
  ['never starts the command', (socket, switched) => socket.write(switched)],
])('refuses a command with exec_transport_error when the guest %s', async (_title, behave) => {
  await guest(behave);
  expect(await codeOf(start())).toBe('exec_transport_error');
});

test.each<[string, Buffer | undefined]>([
  ['the connection ends', undefined],
  ['a message is too long', Buffer.from([0x82, 127, 0, 0, 0, 0, 0xff, 0, 0, 0])],
  ['a message is of no known type', server.binary(99)],
  ['a message is a text', server.text('hello')],
  ['a message is in fragments', Buffer.from([0x02, 1, EXEC.stdout, 0x80, 1, 0])],
  ['a message is compressed', Buffer.from([0xc2, 1, EXEC.stdout])],
  ['a message is masked', Buffer.from([0x82, 0x82, 0, 0, 0, 0, EXEC.stdout, 0])],
  ['a message has no type', Buffer.from([0x82, 0])],
  ['the guest closes', server.close()],
  ['a message is for the other side', server.binary(EXEC.stdinEnd)],
  ['an exit is no JSON', server.binary(EXEC.exit, 'zero')],
  ['an exit is null', server.binary(EXEC.exit, 'null')],
  ['an exit has neither code nor signal', server.binary(EXEC.exit, '{}')],
  ['an exit code is 256', server.binary(EXEC.exit, '{"code":256}')],
  ['an exit code is text', server.binary(EXEC.exit, '{"code":"0"}')],
  ['an exit is long', server.binary(EXEC.exit, `{"code":0}${' '.repeat(10_000)}`)],
  ['a signal is made up', server.binary(EXEC.exit, '{"signal":"<script>"}')],
])('loses a command with exec_transport_error, never exit 0, when %s', async (_title, answer) => {
  await guest((socket, switched) => {
    if (answer === undefined) socket.end(Buffer.concat([switched, STARTED]));
    else socket.write(Buffer.concat([switched, STARTED, answer]));
  });
  const process = await start();
  expect(await codeOf(process.exited)).toBe('exec_transport_error');
  expect(await codeOf(bytes(process.stdout))).toBe('exec_transport_error');
  expect(process.stdin?.destroyed).toBe(true);
});

test('keeps what came before the loss from being taken for all', async () => {
  await guest((socket, switched) =>
    socket.end(Buffer.concat([switched, STARTED, server.binary(EXEC.stdout, 'half')])),
  );
  const process = await start();
  process.stderr.resume();
  let seen = '';
  const reading = (async () => {
    for await (const chunk of process.stdout) seen += String(chunk);
  })();
  expect(await codeOf(reading)).toBe('exec_transport_error');
  expect(await codeOf(process.exited)).toBe('exec_transport_error');
  expect(['', 'half']).toContain(seen);
});

test('is given up when it says nothing of the end of a killed command', async () => {
  await guest((socket, switched) => socket.write(Buffer.concat([switched, STARTED])));
  const process = await start();
  process.kill('SIGTERM');
  process.kill('SIGKILL');
  expect(await codeOf(process.exited)).toBe('exec_transport_error');
});

test('takes nothing that comes after the exit', async () => {
  await guest((socket, switched) => {
    const more = [server.binary(EXEC.stdout, 'more'), server.binary(EXEC.exit, '{"code":1}')];
    const first = [
      switched,
      STARTED,
      server.binary(EXEC.stdout, 'out'),
      server.binary(EXEC.exit, '{"code":0}'),
    ];
    socket.write(Buffer.concat([...first, ...more]));
  });
  const process = await start();
  expect((await bytes(process.stdout)).toString()).toBe('out');
  expect(await process.exited).toEqual({ code: 0 });
});

test('keeps what shares a chunk with output that its reader frees', async () => {
  const { promise: connected, resolve: connects } = Promise.withResolvers<Socket>();
  await guest((socket, switched) => {
    socket.write(Buffer.concat([switched, STARTED]));
    connects(socket);
  });
  const process = await start();
  process.stderr.on('data', freeBuffer);
  const socket = await connected;
  const large = server.binary(EXEC.stderr, Buffer.alloc(40_000));
  const exit = server.binary(EXEC.exit, '{"code":7}');
  socket.write(Buffer.concat([server.binary(EXEC.stdout, 'a'), large]));
  await once(process.stderr, 'data');
  socket.write(Buffer.concat([large, exit.subarray(0, 6)]));
  await once(process.stderr, 'data');
  socket.write(exit.subarray(6));
  expect(await process.exited).toEqual({ code: 7 });
  expect((await bytes(process.stdout)).toString()).toBe('a');
});

test('does not swell when output comes faster than it is read', async () => {
  let accepted = 0;
  const piece = server.binary(EXEC.stdout, Buffer.alloc(60_000));
  await guest((socket, switched) => {
    socket.write(Buffer.concat([switched, STARTED]));
    const pour = (): void => {
      let more = true;
      while (more && accepted < 5000) {
        more = socket.write(piece);
        accepted += 1;
      }
    };
    socket.on('drain', pour);
    pour();
  });
  const process = await start();
  await new Promise((resolve) => process.stdout.once('readable', resolve));
  // One event loop turn for each piece that may still be in flight.
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(process.stdout.readableLength).toBeLessThan(1_000_000);
  expect(accepted).toBeLessThan(100);
  process.stdout.destroy();
  process.stderr.destroy();
});

test('holds stdin back beyond its window, and takes no more credit than it gave', async () => {
  let received = 0;
  const { promise: connected, resolve: connects } = Promise.withResolvers<WebSocket>();
  const http = createHttpServer().on('upgrade', (request, socket, head) => {
    new WebSocketServer({ noServer: true }).handleUpgrade(request, socket, head, connects);
  });
  listener = http.on('connection', (socket) => open.add(socket));
  await new Promise<void>((resolve) => listener.listen(join(folder, 'guest.sock'), resolve));
  const starting = start();
  const socket = await connected;
  socket.on('message', (message: Buffer, isBinary) => (received += isBinary ? message.length - 1 : 0));
  socket.send(Buffer.of(EXEC.started));
  const process = await starting;
  process.stdin?.write(Buffer.alloc(3_000_000));
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(received).toBe(262_144);
  socket.send(Buffer.of(EXEC.window, 0xff, 0xff, 0xff, 0xff));
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(received).toBe(2 * 262_144);
  process.stdout.destroy();
});

test('passes on the first bytes that come right behind the answer of a dial', async () => {
  await guest((socket) => socket.write(Buffer.concat([SWITCHED, Buffer.from('220 ready')])));
  const stream = await client.dial(3000);
  const [first] = (await stream.iterator({ destroyOnReturn: true }).next()).value as [number];
  expect(first).toBe('2'.charCodeAt(0));
});

test.each(['220 mail ready\r\n', ''])(
  'passes on %j and the end of a stream that come together with the answer of a dial',
  async (greeting) => {
    await guest(() => {});
    const connection: Duplex = new Duplex({
      read: () => {},
      write: (_request, _encoding, done) => {
        // Like a callback of the system, which no promise continues before its ticks have run.
        setImmediate(() => {
          connection.push(Buffer.concat([SWITCHED, Buffer.from(greeting)]));
          connection.push(null);
          // As sockets and HTTP/2 streams of Node do at their end.
          connection.read(0);
        });
        done();
      },
    });
    const dialled = await new AskingClient({
      sandboxId: 'abc',
      connect: async () => ({ stream: connection }),
    }).dial(3000);
    // The caller may check it slightly later.
    await new Promise((resolve) => setImmediate(resolve));
    let heard = '';
    dialled.on('data', (chunk: Buffer) => (heard += chunk.toString()));
    await once(dialled, 'end');
    expect(heard).toBe(greeting);
  },
);

test('says nothing_listens when a dial is refused with 502', async () => {
  const body = '{"error":"no","code":"nothing_listens"}';
  await guest((socket) =>
    socket.end(`HTTP/1.1 502 Refused\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
  );
  expect(await codeOf(client.dial(3000))).toBe('nothing_listens');
});

const answer =
  (body: string, length = body.length) =>
  (socket: Socket) =>
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${body}`);
test.each<[string, (socket: Socket) => void]>([
  ['no JSON', answer('yes')],
  ['another shape', answer('{"protocol":"one"}')],
  ['cut', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"proto')],
  ['slow', answer('{"proto', 100)],
  [
    'endless',
    (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n${'x'.repeat(5 << 20)}`),
  ],
  ['of another protocol', answer('{"protocol":2,"version":"9","started_at":"x"}')],
])('refuses an answer that is %s with exec_transport_error', async (_title, behave) => {
  await guest(behave);
  expect(await codeOf(client.health())).toBe('exec_transport_error');
});

test('hands an answer over that fits its schema', async () => {
  await guest(answer('{"protocol":1,"version":"9","started_at":"x","more":true}'));
  expect(await client.json('GET', '/v1/health', guestHealth)).toEqual({
    protocol: 1,
    version: '9',
    started_at: 'x',
  });
});

test('fails events that are cut, and those that are too long', async () => {
  const seen: string[] = [];
  const follow = async () => {
    for await (const { data } of client.events('/v1/events')) seen.push(data);
  };
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  await guest((socket) => socket.end(`${head}b\r\ndata: one\n\n\r\n`));
  expect(await codeOf(follow())).toBe('exec_transport_error');
  expect(seen).toEqual(['one']);
  await new Promise((resolve) => listener.close(resolve));
  await guest((socket) => socket.write(`${head}200000\r\n${'x'.repeat(0x200000)}`));
  expect(await codeOf(follow())).toBe('exec_transport_error');
});
