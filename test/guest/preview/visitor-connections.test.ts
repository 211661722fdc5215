/** Use of a server that a gateway reaches directly, by the kernel's tables. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { idleByPort } from '#guest/preview/visitor-connections.ts';

const OUTSIDE = '127.0.0.2';
/** A pod has other addresses than its gateway. */
const isOwn = (address: string) => address !== OUTSIDE;

const open: { server?: Server; sockets: Socket[] } = { sockets: [] };
afterEach(async () => {
  for (const socket of open.sockets) socket.destroy();
  open.sockets = [];
  open.server?.close();
  if (open.server?.listening === true) await once(open.server, 'close');
});

async function serve(host: string): Promise<number> {
  open.server = createServer((socket) => void open.sockets.push(socket.on('error', () => {}))).listen(
    0,
    host,
  );
  await once(open.server, 'listening');
  return (open.server.address() as AddressInfo).port;
}

/** A visitor, and the server's end of its connection. */
async function visit(port: number, from: string): Promise<[Socket, Socket]> {
  const accepted = once(open.server as Server, 'connection');
  const visitor = connect({ port, host: '127.0.0.1', localAddress: from }).on('error', () => {});
  open.sockets.push(visitor);
  const [socket] = (await accepted) as [Socket];
  return [visitor, socket];
}

/** Also after an error, at which `once` rejects. */
const closed = (socket: Socket) => new Promise((resolve) => void socket.resume().once('close', resolve));

test.each(['127.0.0.1', '0.0.0.0', '::'])('counts a silent connection to %s as use now', async (host) => {
  const port = await serve(host);
  expect(idleByPort(new Set([port]), isOwn)).toEqual(new Map());
  await visit(port, OUTSIDE);
  expect(idleByPort(new Set([port]), isOwn)).toEqual(new Map([[port, 0]]));
  expect(idleByPort(new Set([port + 1]), isOwn)).toEqual(new Map());
});

test('counts neither an app that calls itself nor a visitor who has left', async () => {
  const port = await serve('0.0.0.0');
  await visit(port, '127.0.0.1');
  const [visitor, socket] = await visit(port, OUTSIDE);
  expect(idleByPort(new Set([port]), () => true)).toEqual(new Map());
  visitor.resetAndDestroy();
  await closed(socket);
  expect(idleByPort(new Set([port]), isOwn)).toEqual(new Map());
});

test('remembers for a minute an answer after which the server closed', async () => {
  const port = await serve('0.0.0.0');
  const [visitor, socket] = await visit(port, OUTSIDE);
  socket.end('answer');
  await Promise.all([closed(visitor), closed(socket)]);
  const idle = idleByPort(new Set([port]), isOwn).get(port);
  expect(idle).toBeGreaterThanOrEqual(0);
  expect(idle).toBeLessThan(30_000);
});
