/** Connections through a relay that is a process of this machine instead of a container's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createGuest, type Server as Guest } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Engine } from '#adapters/docker/engine.ts';
import { GuestRelays, guestSocket } from '#adapters/docker/guest-relays.ts';
import { GuestClient } from '#adapters/guest/guest-client.ts';
import { gate } from '#adapters/kubernetes/client/exchange.ts';
import { serveDial } from '#guest/dial.ts';

const PORTHOLE = join(import.meta.dirname, '../../../guest/porthole.ts');
const CONTAINER = { containerId: 'container', startedAt: 'now' };

let name: string;
let guest: Guest;
let relays: GuestRelays;
let started: ChildProcess[];
let servers: Server[];

/** The stream of an exec, as an engine multiplexes it. */
function attached(child: ChildProcess): Duplex {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('no pipes');
  const stream = new Duplex({
    read: () => void stdout.resume(),
    write: (chunk, _encoding, done) => void stdin.write(chunk, done),
    destroy(error, done) {
      child.kill();
      done(error);
    },
  });
  stdin.on('error', () => {});
  stdout.on('data', (bytes: Buffer) => {
    const head = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
    head.writeUInt32BE(bytes.length, 4);
    if (!stream.push(Buffer.concat([head, bytes]))) stdout.pause();
  });
  stdout.on('end', () => stream.push(null));
  return stream;
}

/** Starts a process for each exec. */
const engine = {
  call: (_what: string, work: (docker: unknown, signal: AbortSignal) => Promise<unknown>) =>
    work({ getContainer }, new AbortController().signal),
} as Engine;
const getContainer = () => ({
  exec: async ({ Cmd: [, ...argv] }: { Cmd: string[] }) => ({
    start: async () => {
      const flags = ['--disable-warning=ExperimentalWarning', PORTHOLE, ...argv];
      const child = spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'inherit'] });
      started.push(child);
      return attached(child);
    },
  }),
});

beforeEach(async () => {
  name = `relays-${randomBytes(8).toString('hex')}`;
  [started, servers] = [[], []];
  guest = createGuest().on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    const port = request.url?.split('/').at(-1);
    serveDial(request.headers.upgrade, port, socket, head).catch(() => socket.destroy());
  });
  guest.listen(guestSocket(name));
  await once(guest, 'listening');
  relays = new GuestRelays(engine);
});
afterEach(async () => {
  const running = started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const ended = Promise.all(running.map((child) => once(child, 'exit')));
  relays.closeAll();
  await ended;
  for (const server of servers) server.close();
  guest.close();
});

/** A server in the sandbox. @returns its port */
async function serve(answer: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    answer(socket);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const way = () => ({ id: 'sandbox', name, check: async () => undefined });

async function dial(port: number): Promise<Duplex> {
  const connect = async (_operation: string, signal?: AbortSignal) => ({
    stream: await relays.connect(way(), CONTAINER, signal),
  });
  return new GuestClient({ sandboxId: 'sandbox', connect, answerWithin: 60_000 }).dial(port);
}

const echo = (socket: Socket): void => void socket.pipe(socket);

/** Sends bytes and waits for their echo. */
async function isEchoed(stream: Duplex): Promise<boolean> {
  const sent = randomBytes(8).toString('hex');
  stream.write(sent);
  const [heard] = (await once(stream, 'data')) as [Buffer];
  return heard.toString() === sent;
}

test('rejects a connection when its relay ends while it opens', async () => {
  const connected = relays.connect(way(), CONTAINER);
  // The relay is made in the turn after the call.
  await Promise.resolve();
  relays.end('sandbox');
  await expect(connected).rejects.toMatchObject({ code: 'exec_transport_error' });
});

test('passes on the bytes and the end of servers that greet and hang up at once', async () => {
  const port = await serve((socket) => socket.end('220 mail ready\r\n'));
  const few = gate(20);
  const heard = await Promise.all(
    Array.from({ length: 400 }, () =>
      few(async () => {
        const stream = await dial(port);
        let bytes = '';
        stream.on('data', (chunk: Buffer) => (bytes += chunk.toString()));
        stream.write('GET / HTTP/1.1\r\n\r\n');
        await once(stream, 'end');
        stream.destroy();
        return bytes;
      }),
    ),
  );
  expect(new Set(heard)).toEqual(new Set(['220 mail ready\r\n']));
}, 60_000);

test('closes the connection to the server when a caller leaves in the middle of an answer', async () => {
  const closed = Promise.withResolvers<void>();
  const port = await serve((socket) => {
    socket.once('close', () => closed.resolve());
    // More than all buffers on the way hold.
    socket.write(Buffer.alloc(32 * 1024 * 1024));
  });
  // Holds the relay open.
  const other = await dial(await serve(echo));
  const stream = await dial(port);
  await once(stream, 'data');
  stream.destroy();
  await closed.promise;
  expect(await isEchoed(other)).toBe(true);
}, 60_000);

test('takes connections after hundreds of callers have left in the middle of an answer', async () => {
  const answer = Buffer.alloc(2 * 1024 * 1024);
  const port = await serve((socket) => void socket.write(answer));
  const few = gate(8);
  await Promise.all(
    Array.from({ length: 600 }, () =>
      few(async () => {
        const stream = await dial(port);
        await once(stream, 'data');
        stream.destroy();
      }),
    ),
  );
  expect(started).toHaveLength(1);
}, 120_000);

test('keeps a connection while callers close more than a thousand others', async () => {
  const port = await serve(echo);
  const kept = await dial(port);
  const few = gate(20);
  await Promise.all(
    Array.from({ length: 1_200 }, () =>
      few(async () => {
        (await dial(port)).destroy();
      }),
    ),
  );
  expect(await isEchoed(kept)).toBe(true);
  expect(started).toHaveLength(1);
}, 60_000);
