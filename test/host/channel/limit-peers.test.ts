import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { limitPeers } from '#host/server/limit-peers.ts';

describe('a channel that many share', () => {
  let requests = 0;
  const server = createServer((req, res) => {
    requests += 1;
    if (req.url !== '/wait') res.end('hello');
  });
  let now = 0;
  let port: number;
  beforeAll(async () => {
    limitPeers(server, undefined, () => now);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  beforeEach(() => {
    now += 10_000;
    requests = 0;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  /** All of 127.0.0.0/8 is loopback. */
  const knock = (from: string, path = '/'): Socket => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.0\r\n\r\n`);
    return socket.resume();
  };
  const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const open = () => promisify(server.getConnections.bind(server))();

  test('hangs up only on an address that connects too often', async () => {
    for (let round = 0; round < 100; round += 1) await closed(knock('127.0.0.2'));
    expect(requests).toBe(50);
    await closed(knock('127.0.0.3'));
    expect(requests).toBe(51);
    now += 1_001;
    await closed(knock('127.0.0.2'));
    expect(requests).toBe(52);
  });

  test('hangs up only on an address that holds too many connections', async () => {
    const held = Array.from({ length: 16 }, () => knock('127.0.0.2', '/wait'));
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    await closed(knock('127.0.0.2'));
    await closed(knock('127.0.0.3'));
    expect(requests).toBe(17);
    held.pop()?.destroy();
    while ((await open()) > 15) await setImmediate();
    await closed(knock('127.0.0.2'));
    expect(requests).toBe(18);
    held.forEach((socket) => socket.destroy());
  });
});
