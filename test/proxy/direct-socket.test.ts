import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Duplex, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { connectDirect } from '#proxy/direct-socket.ts';
import { splice } from '#proxy/splice.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A relay to `origin`: returns its client, and resolves with its two sockets. */
async function relayTo(
  origin: number,
  begin: (upstream: Socket) => Promise<unknown> = () => Promise.resolve(),
) {
  const bytes = { a: 0, b: 0 };
  const seen = { waiting: 0 };
  const upstreams = Promise.withResolvers<Socket>();
  const port = await listen((client) => {
    const upstream = connectDirect({ host: '127.0.0.1', port: origin, allowHalfOpen: true });
    sockets.push(upstream);
    upstream.on('error', () => {});
    const join = async (): Promise<void> => {
      await begin(upstream);
      splice(client, upstream, (from, part) => {
        bytes[from] += part.length;
        seen.waiting = Math.max(seen.waiting, client.writableLength);
      });
      upstreams.resolve(upstream);
    };
    join().catch(upstreams.reject);
  });
  const client = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  client.on('error', () => {});
  sockets.push(client);
  return { client, bytes, seen, upstream: upstreams.promise };
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('passes every byte to a slow reader, and reads no more while bytes wait for it', async () => {
  const body = randomBytes(24 * 1024 * 1024);
  const origin = await listen((socket) => socket.end(body));
  const { client, bytes, seen } = await relayTo(origin);
  const hash = createHash('sha256');
  const slow = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      setImmediate(done);
    },
  });
  await pipeline(client, slow, { end: true });
  expect(hash.digest('hex')).toBe(hashOf(body));
  expect(bytes.b).toBe(body.length);
  expect(seen.waiting).toBe(0);
}, 60_000);

test('keeps the order of what arrived before it was joined', async () => {
  const body = randomBytes(600_000);
  const origin = await listen((socket) => socket.end(body));
  const { client } = await relayTo(origin, async (upstream) => {
    await once(upstream, 'readable');
    const first = upstream.read(10) as Buffer;
    upstream.unshift(first);
  });
  expect(hashOf(await buffer(client))).toBe(hashOf(body));
});

test('passes both half-closes on', async () => {
  const origin = await listen((socket) => {
    void buffer(socket).then((received) => socket.end(`${received.length} bytes`));
  });
  const { client } = await relayTo(origin);
  client.end(Buffer.alloc(3_000_000));
  expect((await buffer(client)).toString()).toBe('3000000 bytes');
});

test('destroys the other side where one ends abruptly', async () => {
  const origin = await listen((socket) => {
    socket.write('begin');
    socket.once('data', () => socket.resetAndDestroy());
  });
  const { client, upstream } = await relayTo(origin);
  const closed = once(client, 'end');
  client.once('data', () => client.write('now'));
  await closed;
  expect((await upstream).destroyed).toBe(true);
});

/** A stream that takes one write, and no more until it is released. */
class Slow extends Duplex {
  taken = '';
  release = (): void => {};
  override _read(): void {}
  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.taken += bytes.toString('latin1');
    if (this.taken.length === bytes.length) this.release = done;
    else done();
  }
}

test('delivers what waits for the slower side where the other is reset', async () => {
  const [fast, slow] = [new Slow(), new Slow({ highWaterMark: 10 })];
  let passed = 0;
  splice(
    fast.on('error', () => {}),
    slow,
    (from, part) => (passed += from === 'a' ? part.length : 0),
  );
  for (const part of ['first ', 'second ', 'third ', 'fourth']) {
    fast.push(part);
    await turn();
  }
  expect([fast.readableLength > 0, slow.writableLength > 0]).toEqual([true, true]);
  const closed = [fast, slow].map((side) => new Promise((resolve) => side.once('close', resolve)));
  fast.destroy(new Error('read ECONNRESET'));
  await closed[0];
  // The slower side may still send.
  slow.push('late');
  slow.push(null);
  slow.release();
  await closed[1];
  expect([slow.taken, passed]).toEqual(['first second third fourth', 25]);
});

test('destroys one side at once where the other is destroyed here', async () => {
  const [fast, slow] = [new Slow(), new Slow()];
  splice(fast, slow, () => {});
  fast.push('first');
  await turn();
  fast.destroy();
  await once(slow, 'close');
  expect(slow.writableFinished).toBe(false);
});
