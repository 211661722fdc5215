import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket } from 'ws';
import type { MessageSocket } from '#core/terminals/message-socket.ts';
import { HandshakeResponse } from '#host/server/handshake.ts';
import { acceptWebSocket } from '#host/server/web-socket-answer.ts';

/**
 * Ping intervals in milliseconds: for tests that wait for pings, and for tests that pings must not
 * disturb.
 */
const OFTEN = 40;
const NEVER = 600_000;

describe('a WebSocket of the host', () => {
  let server: Server;
  let stopping: AbortController;
  let accepted: Promise<MessageSocket>;
  let ended: Promise<number>;
  let pingMs = NEVER;
  const messages: (Buffer | string)[] = [];
  let sent = 0;
  beforeEach(async () => {
    stopping = new AbortController();
    messages.length = 0;
    pingMs = NEVER;
    sent = 0;
    const ending = Promise.withResolvers<number>();
    ended = ending.promise;
    const accepting = Promise.withResolvers<MessageSocket>();
    accepted = accepting.promise;
    server = createServer().on('upgrade', (req, socket, head) => {
      const res = new HandshakeResponse(req, socket, head);
      const options = { stopping: stopping.signal, pingMs, ended: ending.resolve };
      const own = acceptWebSocket(res, 'the-request', options);
      own?.listen({
        message: (message) => void messages.push(message),
        sent: () => (sent += 1),
        closed: () => undefined,
      });
      if (own !== undefined) accepting.resolve(own);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });

  const connect = (options: { autoPong?: boolean } = {}) =>
    new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`, options);

  test('carries the id of its request', async () => {
    const client = connect();
    const [response] = (await once(client, 'upgrade')) as [{ headers: Record<string, string> }];
    expect(response.headers['x-request-id']).toBe('the-request');
    client.terminate();
    await ended;
  });

  test('stays open when it answers pings', async () => {
    pingMs = OFTEN;
    const client = connect();
    let pings = 0;
    await new Promise<void>((resolve) => {
      client.on('ping', () => {
        pings += 1;
        if (pings === 5) resolve();
      });
    });
    client.close(1000);
    expect(await ended).toBe(1000);
  });

  test('is cut off when it answers no pings', async () => {
    pingMs = OFTEN;
    const client = connect({ autoPong: false });
    const [code] = (await once(client, 'close')) as [number];
    expect([code, await ended]).toEqual([1006, 1006]);
  });

  test('is not taken for dead while we do not listen to it', async () => {
    pingMs = OFTEN;
    const client = connect();
    const own = await accepted;
    own.pause();
    let pings = 0;
    await new Promise<void>((resolve) => {
      client.on('ping', () => {
        pings += 1;
        if (pings === 5) resolve();
      });
    });
    client.send('heard later');
    own.resume();
    while (messages.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(messages).toEqual(['heard later']);
    client.terminate();
    await ended;
  });

  test('counts what waits for a client that does not read, and counts it off again', async () => {
    const client = connect();
    const own = await accepted;
    await once(client, 'open');
    client.pause();
    for (let at = 0; at < 400; at += 1) own.send(Buffer.alloc(64 * 1024));
    expect(own.waiting).toBeGreaterThan(8 * 1024 * 1024);
    client.resume();
    while (own.waiting > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toBe(400);
    client.terminate();
    await ended;
    own.send('into the void');
    own.close(1000, '');
    expect(own.waiting).toBe(0);
  });

  test('is cut off soon when it does not say goodbye and the process ends', async () => {
    const client = connect();
    const own = await accepted;
    await once(client, 'open');
    client.pause();
    stopping.abort();
    own.close(1001, '');
    expect(await ended).toBe(1006);
    client.terminate();
  });
});
