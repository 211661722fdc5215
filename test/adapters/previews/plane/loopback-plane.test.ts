import { expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { once } from 'node:events';
import { Duplex, PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createLoopbackPlane } from '#adapters/previews/loopback-plane.ts';
import { PortholeError } from '#base/errors.ts';
import { previewPlaneContract } from '../../../contracts/preview-plane.contract.ts';
import { pinnedClock } from '../../../doubles/pinned-clock.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');
const SANDBOX = { id: 'box', podName: 'box', listens: 3000, silent: 3001 };

previewPlaneContract(
  'loopback listeners',
  async () => {
    const plane = createLoopbackPlane({
      maxTotal: 40,
      clock: pinnedClock(NOON),
      sandboxes: {
        async dial(_id, port) {
          if (port !== SANDBOX.listens) throw new PortholeError('nothing_listens', 'Nothing listens.');
          // Echoes its input.
          return new PassThrough();
        },
      },
    });
    return {
      plane,
      capacity: 40,
      sandbox: SANDBOX,
      now: () => NOON,
      async reaches({ localPort }) {
        const client = connect(localPort, '127.0.0.1');
        try {
          await once(client, 'connect');
          client.write('hello');
          const [said] = (await once(client, 'data')) as [Buffer];
          return said.toString() === 'hello';
        } catch {
          return false;
        } finally {
          client.destroy();
        }
      },
      dispose: () => plane.closeAll(),
    };
  },
  { runs: 60 },
);

test('opens nothing that it would have to keep visitors from', async () => {
  const { plane, preview } = await openOne(() => Promise.reject(new Error('not called')));
  const access = { level: 'org', epoch: 1, revoked: [] } as const;
  await expect(plane.setAccess(preview, access)).rejects.toMatchObject({ code: 'preview_not_enabled' });
  await plane.setAccess(preview, { ...access, level: 'link' });
  await plane.closeAll();
});

/** A plane with one preview; `dial` makes its connections. */
async function openOne(dial: () => Promise<Duplex>) {
  const plane = createLoopbackPlane({ maxTotal: 1, clock: pinnedClock(NOON), sandboxes: { dial } });
  const { preview } = await plane.open({
    token: `calm-blue-otter-${'a'.repeat(26)}`,
    runId: 'run_1',
    owner: 'alice',
    sandboxId: 'box',
    podName: 'box',
    targetPort: 3000,
    startedAt: NOON,
    expiresAt: NOON,
    maxUntil: NOON,
  });
  return { plane, preview };
}

test('carries HTTP without the console’s cookies, which browsers send to every port of a host', async () => {
  const seen: (string | undefined)[] = [];
  const app = createServer((req, res) => {
    seen.push(req.headers.cookie);
    res.setHeader('Set-Cookie', ['porthole-session=mine', 'own=1']).end('shown');
  }).listen(0, '127.0.0.1');
  await once(app, 'listening');
  const { plane, preview } = await openOne(async () => {
    const socket = connect((app.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  });
  const url = `http://127.0.0.1:${preview.localPort}/`;
  const ask = (body?: string) =>
    fetch(url, {
      headers: { Cookie: 'a=b; porthole-session=secret' },
      ...(body !== undefined && { method: 'POST', body }),
    });
  const [first, second] = [await ask(), await ask('a form')];
  expect([await first.text(), await second.text()]).toEqual(['shown', 'shown']);
  expect(first.headers.getSetCookie()).toEqual(['own=1']);
  expect(seen).toEqual(['a=b', 'a=b']);
  await plane.closeAll();
  app.closeAllConnections();
  app.close();
});

test('passes on what a server sent before it reset a connection that is not HTTP', async () => {
  const sent = Buffer.alloc(32 * 1024 * 1024, 's');
  const upstream = new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() });
  const { plane, preview } = await openOne(() => Promise.resolve(upstream));
  // The client takes no more for now.
  upstream.once('pause', () => upstream.destroy(new Error('reset')));
  upstream.push(sent);
  const client = connect(preview.localPort, '127.0.0.1');
  expect((await buffer(client)).length).toBe(sent.length);
  await plane.closeAll();
});
