import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ReadyConnections } from '#adapters/local/ready-connections.ts';
import { listenInFolder } from '#base/socket-path.ts';

let folder: string;
let guest: Server;
let accepted: Socket[];
let connections: ReadyConnections;
const events = new EventEmitter();
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'porthole-ready-'));
  accepted = [];
  connections = new ReadyConnections();
  guest = createServer((socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined).on('data', () => socket.write(String(accepted.indexOf(socket))));
    events.emit('accepted');
  });
  await listenInFolder(guest, folder, 'guest.sock');
});
afterEach(() => {
  connections.close();
  for (const socket of accepted) socket.destroy();
  guest.close();
  rmSync(folder, { recursive: true });
});

/** The number of the connection that the next call uses. */
async function use(): Promise<{ readonly number: string; end(): Promise<unknown> }> {
  const stream = await connections.connect(folder);
  stream.write('?');
  const [number] = (await once(stream, 'data')) as [Buffer];
  return { number: number.toString(), end: () => once(stream.destroy(), 'close') };
}

/** Uses one, and waits until the next is made. */
async function useOne(): Promise<string> {
  const { number, end } = await use();
  const next = once(events, 'accepted');
  await end();
  await next;
  // The client's end of it.
  await turn();
  await turn();
  return number;
}

test('makes a connection for the next call once one is over', async () => {
  expect([await useOne(), await useOne(), await useOne()]).toEqual(['0', '1', '2']);
  expect(accepted).toHaveLength(4);
});

test('gives each of two calls at once a connection', async () => {
  await useOne();
  const [one, two] = await Promise.all([use(), use()]);
  expect([one.number, two.number].toSorted()).toEqual(['1', '2']);
});

test('uses none that the guest has closed', async () => {
  await useOne();
  const closed = once(accepted[1] as Socket, 'close');
  accepted[1]?.destroy();
  await closed;
  await turn();
  await turn();
  expect((await use()).number).toBe('2');
});

test('uses none that was dropped before the guest ended', async () => {
  await useOne();
  const closed = once(accepted[1] as Socket, 'close');
  connections.drop(folder);
  await closed;
  expect((await use()).number).toBe('2');
});

test('makes none once it is closed, or once nothing listens', async () => {
  const { end } = await use();
  connections.close();
  await end();
  await turn();
  await turn();
  expect(accepted).toHaveLength(1);
  guest.close();
  await expect(new ReadyConnections().connect(folder)).rejects.toMatchObject({
    code: expect.stringMatching(/^(ENOENT|ECONNREFUSED)$/),
  });
});
