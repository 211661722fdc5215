/** Connections to apps that reset them. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { appProbe } from '#adapters/previews/http-app-probe.ts';
import { connectLoopback, serveDial } from '#guest/dial.ts';
import { OpenPreviews } from '#guest/preview/open-previews.ts';
import { createPreviewListener } from '#guest/preview/preview-listener.ts';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import { fetchRaw } from '#test/proxy/gateway-fixture.ts';

const HEAD = /^HTTP\/1\.1 101 [^]*?\r\n\r\n/;
let guest: Server;
let appPort = 0;
const apps: Server[] = [];

beforeAll(async () => {
  guest = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    serveDial('tcp', String(appPort), socket, Buffer.alloc(0)).catch((error) => socket.end(String(error)));
  });
  await listen(guest);
});
afterAll(() => {
  for (const server of [guest, ...apps]) server.close();
});

async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function startApp(serve: (socket: Socket) => void, host?: string): Promise<void> {
  const app = createServer({ allowHalfOpen: true }, (socket) => serve(socket.on('error', () => undefined)));
  apps.push(app);
  appPort = await listen(app, host);
}

/** The host's end of a dialled connection, after the answer of the guest. */
async function dial(): Promise<Socket> {
  const { port } = guest.address() as AddressInfo;
  const stream = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  await once(stream, 'readable');
  const answer = stream.read() as Buffer;
  const [head = ''] = HEAD.exec(answer.toString('latin1')) ?? [];
  expect(head).not.toBe('');
  if (answer.length > head.length) stream.unshift(answer.subarray(head.length));
  return stream;
}

describe.each(['127.0.0.1', '::1'])('an app on %s that resets each connection at once', (host) => {
  const isReset = new Int32Array(new SharedArrayBuffer(4));
  let app: Worker;
  beforeAll(async () => {
    app = new Worker(
      `const { workerData: { isReset, host }, parentPort } = require('node:worker_threads');
      const server = require('node:net').createServer((socket) => {
        socket.once('close', () => {
          Atomics.store(isReset, 0, 1);
          Atomics.notify(isReset, 0);
        });
        socket.resetAndDestroy();
      });
      server.listen(0, host, () => parentPort.postMessage(server.address().port));`,
      { eval: true, workerData: { isReset, host } },
    );
    [appPort] = (await once(app, 'message')) as [number];
    subscribe('net.client.socket', watch);
  });
  afterAll(async () => {
    unsubscribe('net.client.socket', watch);
    await app.terminate();
  });

  // The kernel then reports the reset as the outcome of the connection attempt.
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.on('connectionAttempt', (address: string, port: number) => {
      if (address !== host || port !== appPort) return;
      Atomics.store(isReset, 0, 0);
      process.nextTick(() => Atomics.wait(isReset, 0, 0));
    });
  };

  test('has closed it without an answer, for the visitor', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'porthole-dial-'));
    const previews = new OpenPreviews(join(folder, 'previews.json'));
    previews.open(appPort, {
      host: 'calm.preview.test',
      run: 'run_1',
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      frame_ancestors: [],
    });
    const front = createStrictServer(createPreviewListener(previews, connectLoopback));
    const page = await fetchRaw(await listen(front), 'calm.preview.test', '/', {
      'X-Porthole-Port': String(appPort),
    });
    front.close();
    rmSync(folder, { recursive: true });
    expect([page.status, page.headers['x-porthole-status']]).toEqual([502, 'bad_response']);
    expect(page.body).toContain('it closed the connection before it had answered');
  });

  test('has closed it without an answer, for the doctor', async () => {
    expect(await appProbe.get(await dial(), appPort)).toEqual({ kind: 'hung_up' });
  });
});

/** More than the kernel buffers between the two ends. */
const MUCH = Buffer.alloc(32 * 1024 * 1024, 'm');

test('passes on what an app answered to an upload that it resets', async () => {
  await startApp((socket) => {
    socket.once('readable', () => {
      socket.write('413, too large', () => socket.resetAndDestroy());
    });
  });
  for (let round = 0; round < 20; round += 1) {
    const stream = await dial();
    // The visitor reads once everything is sent.
    const failed = await new Promise((resolve) => stream.write(MUCH, resolve));
    expect([failed ?? undefined, await text(stream)]).toEqual([undefined, '413, too large']);
    stream.destroy();
  }
});

test('reads what a visitor still sends after the app has reset the connection', async () => {
  await startApp((socket) => {
    socket.once('readable', () => socket.resetAndDestroy());
  });
  const stream = await dial();
  stream.write('x');
  expect(await text(stream)).toBe('');
  expect((await new Promise((resolve) => stream.write(MUCH, resolve))) ?? undefined).toBeUndefined();
  stream.destroy();
});

test('passes on what the app sent, to a visitor that takes it after the reset', async () => {
  const [first, last] = ['f'.repeat(30_000), 'l'.repeat(10_000)];
  let app: Socket | undefined;
  await startApp((socket) => {
    app = socket;
    socket.write(first);
  });
  let isHeld = true;
  let taken = '';
  const visitor = new Duplex({
    writableHighWaterMark: 1_000,
    read() {},
    write(bytes: Buffer, _encoding, done) {
      taken += bytes.toString('latin1');
      // Before the visitor takes more, the rest arrives, and the reset.
      if (isHeld && taken.length > first.length) {
        isHeld = false;
        upstream?.once('close', () => done());
        app?.write(last, () => app?.resetAndDestroy());
      } else done();
    },
  });
  let upstream: Socket | undefined;
  const watch = (message: unknown): void => {
    upstream ??= (message as { readonly socket: Socket }).socket;
  };
  subscribe('net.client.socket', watch);
  const finished = once(visitor, 'finish');
  await serveDial('tcp', String(appPort), visitor, Buffer.alloc(0));
  unsubscribe('net.client.socket', watch);
  await finished;
  expect(taken.replace(HEAD, '')).toBe(first + last);
  visitor.destroy();
});

test('passes on what a visitor sent before it left', async () => {
  const got = Promise.withResolvers<string>();
  let app: Socket | undefined;
  await startApp((socket) => {
    app = socket.pause();
    visitor.push(MUCH);
    visitor.push('the end');
    setImmediate(() => visitor.destroy(new Error('reset')));
  });
  const visitor = new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() });
  visitor.once('close', () => {
    text(app as Socket).then(got.resolve, got.reject);
  });
  await serveDial('tcp', String(appPort), visitor, Buffer.alloc(0));
  const received = await got.promise;
  expect([received.length, received.slice(-7)]).toEqual([MUCH.length + 7, 'the end']);
});

test('keeps nothing of connections that have ended', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  await startApp((socket) => socket.pipe(socket));
  const kept: WeakRef<Socket>[] = [];
  const keep = (socket: Socket) => void kept.push(new WeakRef(socket));
  guest.on('connection', keep);
  for (let count = 0; count < 50; count += 1) {
    const stream = await dial();
    stream.destroy();
    await once(stream, 'close');
  }
  guest.off('connection', keep);
  expect(kept).toHaveLength(50);
  const left = () => kept.filter((socket) => socket.deref() !== undefined).length;
  for (let turn = 0; turn < 100 && left() > 5; turn += 1) {
    await nextTurn();
    collectGarbage();
  }
  expect(left()).toBeLessThanOrEqual(5);
});
