import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import {
  type GatewayFixture,
  type Listener,
  type StartGateway,
  startApp,
  startTcp,
} from './gateway-fixture.ts';

/** The answer to the key that the raw handshake sends, from RFC 6455 section 1.3. */
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
/** Two intervals of silence: the first one only notices that bytes moved before it. */
const SILENCE_MS = 40_000;

/** What counts as use of a preview, for any location of its proxy. */
export function previewUseContract(startGateway: StartGateway): void {
  describe('use of a preview', () => {
    let open: Listener[] = [];
    const ends: (() => void)[] = [];
    afterEach(async () => {
      jest.useRealTimers();
      for (const end of ends.splice(0)) end();
      for (const listener of open.toReversed()) await listener.close();
      open = [];
    });

    const serve = async (app: Listener): Promise<GatewayFixture> => {
      const fixture = await startGateway(app.port);
      open.push(app, fixture);
      return fixture;
    };

    /** Use is recorded once a second at most, so the wait may take this long. */
    const usedAgain = async (fixture: GatewayFixture, step: () => Promise<unknown>): Promise<void> => {
      const before = fixture.lastUse();
      expect(before).toBeDefined();
      while (fixture.lastUse() === before) await step();
    };

    const startSockets = async (onSocket: (socket: WebSocket) => void): Promise<GatewayFixture> => {
      const app = await startApp((_, res) => res.end());
      new WebSocketServer({ server: app.server }).on('connection', onSocket);
      return serve(app);
    };

    const dial = async (fixture: GatewayFixture, autoPong = true): Promise<WebSocket> => {
      const headers = { Host: fixture.previewHost };
      const socket = new WebSocket(`ws://127.0.0.1:${fixture.port}/`, { headers, autoPong });
      ends.push(() => socket.terminate());
      await once(socket, 'open');
      return socket;
    };

    const pretendTime = (): void => {
      const real = [
        'setTimeout',
        'clearTimeout',
        'setImmediate',
        'clearImmediate',
        'nextTick',
        'Date',
      ] as const;
      jest.useFakeTimers({ doNotFake: [...real, 'performance', 'queueMicrotask', 'hrtime'] });
    };

    const receive = async (fixture: GatewayFixture): Promise<IncomingMessage> => {
      const request = get({ port: fixture.port, host: '127.0.0.1', headers: { Host: fixture.previewHost } });
      ends.push(() => request.destroy());
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      return response;
    };

    test.each([
      ['a download', { 'Content-Length': '1000000' }],
      ['an event stream', { 'Content-Type': 'text/event-stream' }],
    ])('continues while the app sends %s', async (_, headers) => {
      const send = (_req: IncomingMessage, res: ServerResponse): void => {
        res.writeHead(200, headers);
        const timer = setInterval(() => res.write(': x\n\n'), 50);
        res.on('close', () => clearInterval(timer));
      };
      const fixture = await serve(await startApp(send));
      const response = await receive(fixture);
      await usedAgain(fixture, () => once(response, 'data'));
      response.on('error', () => undefined);
    });

    test('continues while a WebSocket of the app sends', async () => {
      const fixture = await startSockets((socket) => {
        const timer = setInterval(() => socket.send('x'), 50);
        socket.on('close', () => clearInterval(timer));
      });
      const socket = await dial(fixture);
      await usedAgain(fixture, () => once(socket, 'message'));
    });

    test('continues while the peer of a silent WebSocket answers pings', async () => {
      pretendTime();
      const pongs: Buffer[] = [];
      const fixture = await startSockets((socket) => socket.on('pong', (data) => pongs.push(data)));
      const socket = await dial(fixture);
      await usedAgain(fixture, async () => {
        const pinged = once(socket, 'ping');
        jest.advanceTimersByTime(SILENCE_MS);
        await pinged;
      });
      // It is still a WebSocket for both sides.
      const closed = once(socket, 'close');
      socket.close(4001);
      expect((await closed)[0]).toBe(4001);
      expect(pongs.length).toBeGreaterThan(0);
    });

    test('ends where the peer of a silent WebSocket does not answer', async () => {
      pretendTime();
      const fixture = await startSockets(() => undefined);
      const socket = await dial(fixture, false);
      const before = fixture.lastUse();
      for (const start = performance.now(); performance.now() - start < 1_200; ) {
        const pinged = once(socket, 'ping');
        jest.advanceTimersByTime(SILENCE_MS);
        await pinged;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(fixture.lastUse()).toBe(before);
    });

    test('is not asked for inside a message of the app', async () => {
      pretendTime();
      let app: Socket | undefined;
      const listener = await startTcp((socket) => {
        app = socket;
        socket.once('data', () => {
          const head = `HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${ACCEPT}`;
          // Half a text frame of six bytes.
          socket.write(`${head}\r\n\r\n\x81\x06abc`, 'latin1');
        });
      });
      const fixture = await serve(listener);
      const request = get({
        port: fixture.port,
        host: '127.0.0.1',
        headers: {
          Host: fixture.previewHost,
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': KEY,
        },
      });
      const [, client, early] = (await once(request, 'upgrade')) as [unknown, Socket, Buffer];
      ends.push(() => client.destroy());
      let received = early.toString('latin1');
      client.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
      const until = async (text: string): Promise<void> => {
        while (received !== text) await once(client, 'data');
      };
      await until('\x81\x06abc');
      jest.advanceTimersByTime(SILENCE_MS);
      app?.write('def');
      await until('\x81\x06abcdef');
      jest.advanceTimersByTime(SILENCE_MS / 2);
      await until('\x81\x06abcdef\x89\0');
    });
  });
}
