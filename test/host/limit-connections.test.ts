import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { descriptorBudget } from '#host/server/descriptor-budget.ts';
import { limitConnections } from '#host/server/limit-connections.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { ALICE, PEOPLE } from './support/people.ts';
import { type Callable, makeRun } from './support/runs.ts';

const MAX_WAIT_MS = 250;

const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

/** A connection, once it is accepted. All of 127.0.0.0/8 is loopback. */
async function open(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  sockets.add(socket.on('error', () => undefined).resume());
  await once(socket, 'connect');
  return socket;
}

async function serve(limits: { mostInAll: number; mostOfAddress: number }) {
  const warned: object[] = [];
  const server = createServer((req, res) => {
    if (req.url === '/wait') res.writeHead(200).flushHeaders();
    else res.writeHead(req.url === '/known' ? 200 : 401).end();
  });
  limitConnections(server, limits, { warn: (fields: object) => void warned.push(fields) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = async (socket: Socket, path: string): Promise<void> => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await once(socket, 'data');
  };
  return { server, port, warned, ask };
}

async function end(server: Server): Promise<void> {
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, 'close');
}

const closed = (socket: Socket) => socket.destroyed || once(socket, 'close');

test('closes the oldest idle connection of a stranger for a new one', async () => {
  const { server, port, warned, ask } = await serve({ mostInAll: 4, mostOfAddress: 4 });
  const served = await open(port);
  await ask(served, '/known');
  const works = await open(port);
  await ask(works, '/wait');
  const stranger = await open(port);
  const refused = await open(port);
  await ask(refused, '/');
  await ask(await open(port), '/known');
  await closed(stranger);
  await ask(await open(port), '/known');
  await closed(refused);
  expect([served.destroyed, works.destroyed]).toEqual([false, false]);
  // There are no strangers left.
  await ask(await open(port), '/known');
  await closed(served);
  expect(works.destroyed).toBe(false);
  expect(warned[0]).toEqual({ closed: 1, open: 3, limit: 4, address: '127.0.0.1' });
  await end(server);
});

test('refuses a new connection where all others work', async () => {
  const { server, port, ask } = await serve({ mostInAll: 2, mostOfAddress: 2 });
  const works = [await open(port), await open(port)];
  for (const socket of works) await ask(socket, '/wait');
  await closed(await open(port));
  expect(works.map(({ destroyed }) => destroyed)).toEqual([false, false]);
  await end(server);
});

test('limits one address without others', async () => {
  const { server, port, ask } = await serve({ mostInAll: 5, mostOfAddress: 2 });
  const other = await open(port, '127.0.0.2');
  const first = await open(port);
  for (let at = 0; at < 2; at += 1) await ask(await open(port), '/known');
  await closed(first);
  expect(other.destroyed).toBe(false);
  await end(server);
});

test.each([256, 1_024, 65_536, 1_048_576])('keeps descriptors of a limit of %i for work', (limit) => {
  const { clients, sandboxes } = descriptorBudget(limit);
  expect(Math.min(clients, sandboxes)).toBeGreaterThan(0);
  // Each client may hold two.
  expect(2 * clients + sandboxes).toBeLessThan(0.85 * limit);
});

test('runs commands while strangers hold more connections than the host has descriptors', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'porthole-connections-'));
  const host = await startHostProcess({ dataDir, environment: PEOPLE, openFiles: 1_024 });
  try {
    const ask: Callable['call'] = (method, path, options) => call(host.port, method, path, options);
    const { sandboxId } = await makeRun({ call: ask }, ALICE);
    const exec = async () => {
      const begun = performance.now();
      const options = { token: ALICE, body: { argv: ['echo', 'hello'] } };
      const { status, text } = await ask('POST', `/v1/sandbox/${sandboxId}/exec`, options);
      expect([status, text.includes('"exit_code":0')]).toEqual([200, true]);
      return performance.now() - begun;
    };
    const median = async (count: number) => {
      const times: number[] = [];
      for (let at = 0; at < count; at += 1) times.push(await exec());
      return times.toSorted((one, other) => one - other)[count >> 1] ?? 0;
    };
    await exec();
    const usual = await median(9);
    const strangers: Socket[] = [];
    for (let at = 0; at < 1_100; at += 1) strangers.push(await open(host.port));
    expect(await median(15)).toBeLessThan(MAX_WAIT_MS + 3 * usual);
    const held = strangers.filter(({ destroyed }) => !destroyed).length;
    expect(held).toBeLessThanOrEqual(descriptorBudget(1_024).clients);
    expect(host.output()).toContain('too many connections');
    await ask('DELETE', `/v1/sandbox/${sandboxId}`, { token: ALICE });
  } finally {
    for (const socket of sockets) socket.destroy();
    await host.end();
    await rm(dataDir, { recursive: true, force: true });
  }
}, 60_000);
