import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import {
  FOREIGN_TOKEN,
  type GatewayFixture,
  type Listener,
  openRaw,
  SIBLING_PORT,
  SIBLING_TOKEN,
  sendRaw,
  standsStill,
  startApp,
  startCanned,
  startTcp,
  statusesOf,
  TOKEN,
  type StartGateway,
} from './gateway-fixture.ts';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
/** The answer to KEY, from RFC 6455 section 1.3. */
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

function handshake(host: string, ...headers: string[]): string {
  return [
    'GET /hmr HTTP/1.1',
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
    ...headers,
    '',
    '',
  ].join('\r\n');
}

/** WebSockets through a preview, for any location of its proxy. */
export function webSocketContract(startGateway: StartGateway): void {
  let open: Listener[] = [];
  afterEach(async () => {
    for (const listener of open.toReversed()) await listener.close();
    open = [];
  });

  describe('a WebSocket', () => {
    let fixture: GatewayFixture;
    let appPort: number;
    let seen: IncomingMessage[];
    let sockets: WebSocket[];

    beforeEach(async () => {
      seen = [];
      sockets = [];
      const app = await startApp((_, res) => res.end('plain'));
      const echo = new WebSocketServer({ server: app.server });
      echo.on('connection', (socket, req) => {
        seen.push(req);
        sockets.push(socket);
        socket.on('message', (data: RawData, isBinary) => socket.send(data, { binary: isBinary }));
      });
      fixture = await startGateway(app.port);
      appPort = app.port;
      open.push(app, fixture);
    });

    const dial = async (headers: Record<string, string> = {}): Promise<WebSocket> => {
      const socket = new WebSocket(`ws://127.0.0.1:${fixture.port}/hmr`, {
        headers: { Host: fixture.previewHost, ...headers },
      });
      await once(socket, 'open');
      return socket;
    };

    test('echoes through the preview, with Host and Origin of the app’s own', async () => {
      const socket = await dial({ Origin: `${fixture.scheme}://${fixture.previewHost}` });
      socket.send('hello');
      const [data] = (await once(socket, 'message')) as [Buffer];
      expect(data.toString()).toBe('hello');
      expect(seen[0]?.headers).toMatchObject({
        host: `localhost:${appPort}`,
        origin: `http://localhost:${appPort}`,
      });
      expect(seen[0]?.headers).not.toHaveProperty('x-forwarded-host');
      socket.terminate();
    });

    test('carries large messages both ways', async () => {
      const socket = await dial();
      const message = Buffer.alloc(8 * 1024 * 1024, 'x');
      socket.send(message);
      const [data] = (await once(socket, 'message')) as [Buffer];
      expect(data.equals(message)).toBe(true);
      socket.terminate();
    });

    test('is accepted from a sibling preview', async () => {
      const socket = await dial({
        Origin: `${fixture.scheme}://${SIBLING_TOKEN}-preview.localhost:${fixture.port}`,
      });
      expect(seen[0]?.headers.origin).toBe(`http://localhost:${SIBLING_PORT}`);
      socket.terminate();
    });

    test.each([
      ['another site', 'https://evil.example'],
      ['an opaque origin', 'null'],
      ['a preview of another run', `http://${FOREIGN_TOKEN}-preview.localhost`],
      ['the API’s own page', 'http://localhost:8787'],
    ])('is refused with 403 from %s, and never reaches the app', async (_, origin) => {
      const raw = await sendRaw(fixture.port, handshake(fixture.previewHost, `Origin: ${origin}`));
      expect(statusesOf(raw)).toEqual([403]);
      expect(raw).toContain('X-Porthole-Status: foreign_origin');
      expect(fixture.dials()).toBe(0);
    });

    test('gets 404 for an unknown token', async () => {
      const raw = await sendRaw(fixture.port, handshake(fixture.previewHost.replace(TOKEN, FOREIGN_TOKEN)));
      expect(statusesOf(raw)).toEqual([404]);
    });

    test('gets 400 without a key', async () => {
      const raw = await sendRaw(fixture.port, handshake(fixture.previewHost).replace(KEY, 'short'));
      expect(statusesOf(raw)).toEqual([400]);
      expect(fixture.dials()).toBe(0);
    });

    test('dies with its client', async () => {
      const socket = await dial();
      const [theirs] = sockets as [WebSocket];
      const closed = once(theirs, 'close');
      socket.terminate();
      await closed;
    });

    test('dies with its app', async () => {
      const socket = await dial();
      socket.on('error', () => undefined);
      const closed = once(socket, 'close');
      sockets[0]?.terminate();
      await closed;
    });

    test('ends cleanly when both sides say so', async () => {
      const socket = await dial();
      const closed = once(socket, 'close');
      socket.close(1000, 'bye');
      expect((await closed)[0]).toBe(1000);
    });

    test('ends with its preview', async () => {
      const socket = await dial();
      const closed = once(socket, 'close');
      socket.on('error', () => undefined);
      fixture.revoke();
      await closed;
    });

    test('counts as use', async () => {
      const socket = await dial();
      expect(fixture.uses()).toBe(1);
      socket.terminate();
    });

    test('waits for the app when the client floods it', async () => {
      const socket = await dial();
      const [theirs] = sockets as [WebSocket];
      theirs.pause();
      const block = Buffer.alloc(1024 * 1024);
      for (let at = 0; at < 32; at += 1) socket.send(block);
      expect(await standsStill(() => socket.bufferedAmount)).toBeGreaterThan(8 * 1024 * 1024);
      socket.terminate();
      theirs.terminate();
    });
  });

  describe('a handshake that the app', () => {
    const before = async (bytes: string, end = false): Promise<GatewayFixture & { heads: string[] }> => {
      const app = await startCanned(bytes, end);
      const fixture = await startGateway(app.port);
      open.push(app, fixture);
      return { ...fixture, heads: app.heads };
    };
    const switching = (...headers: string[]): string =>
      ['HTTP/1.1 101 Switching Protocols', ...headers, '', ''].join('\r\n');

    test('agrees to carries the bytes that came with it, both ways', async () => {
      const fixture = await before(
        `${switching('Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${ACCEPT}`)}first`,
      );
      const client = await openRaw(fixture.port);
      client.send(`${handshake(fixture.previewHost)}early\r\n\r\n`);
      const received = await client.until('first');
      expect(statusesOf(received)).toEqual([101]);
      expect(received).toContain('Referrer-Policy: same-origin');
      // The app parses the bytes after the handshake as another head, and responds to it too.
      await client.until('firstHTTP/1.1 101');
      expect(fixture.heads.slice(1)).toEqual(['early']);
      client.socket.destroy();
      await client.closed;
    });

    test.each([
      [
        'agrees to with the wrong key',
        ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Accept: AAAA'],
      ],
      ['agrees to without a key', ['Upgrade: websocket', 'Connection: Upgrade']],
      [
        'turns into another protocol',
        ['Upgrade: h2c', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${ACCEPT}`],
      ],
      ['agrees to without Connection', ['Upgrade: websocket', `Sec-WebSocket-Accept: ${ACCEPT}`]],
    ])('%s is a 502', async (_, headers) => {
      const fixture = await before(switching(...headers));
      const raw = await sendRaw(fixture.port, handshake(fixture.previewHost));
      expect(statusesOf(raw)).toEqual([502]);
      expect(raw).toContain('X-Porthole-Status: bad_response');
    });

    test.each([
      [
        'a length',
        'HTTP/1.1 426 Upgrade Required\r\nContent-Length: 4\r\nSet-Cookie: a=b; Domain=x\r\n\r\nnope',
      ],
      [
        'chunks',
        'HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a=b; Domain=x\r\n\r\n4\r\nnope\r\n0\r\n\r\n',
      ],
    ])('declines with %s is declined, and a request hidden behind it goes nowhere', async (_, bytes) => {
      const fixture = await before(bytes);
      const hidden = `GET /hidden HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n`;
      const raw = await sendRaw(fixture.port, handshake(fixture.previewHost) + hidden);
      expect(statusesOf(raw)).toHaveLength(1);
      expect(raw).toMatch(/\r\nSet-Cookie: a=b\r\n/);
      expect(raw).toMatch(/\r\nConnection: close\r\n\r\nnope$/);
      expect(fixture.heads).toHaveLength(1);
    });

    test('never answers is given up with its client', async () => {
      const fixture = await before('');
      const client = await openRaw(fixture.port);
      client.send(handshake(fixture.previewHost));
      client.socket.end();
      expect(await client.closed).toBe('');
    });

    test('closes on is a 502', async () => {
      const fixture = await before('', true);
      expect(statusesOf(await sendRaw(fixture.port, handshake(fixture.previewHost)))).toEqual([502]);
    });
  });

  test('delivers what the other side sends to a side that has ended its half', async () => {
    const app = await startTcp((socket) => {
      let text = '';
      socket.on('data', (data: Buffer) => {
        text += data.toString('latin1');
        if (!text.includes('hello')) {
          socket.write(
            `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`,
          );
        }
      });
      socket.on('end', () => socket.end(`bye after ${text.slice(-5)}`));
    }, true);
    const fixture = await startGateway(app.port);
    open.push(app, fixture);
    const client = await openRaw(fixture.port);
    client.send(handshake(fixture.previewHost));
    await client.until('101 Switching Protocols');
    client.send('hello');
    client.socket.end();
    expect((await client.closed).endsWith('bye after hello')).toBe(true);
  });

  test('closes the connection when an upgrade is pipelined behind an unanswered request', async () => {
    const app = await startApp(() => undefined);
    const fixture = await startGateway(app.port);
    open.push(app, fixture);
    const raw = await sendRaw(
      fixture.port,
      `GET / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n${handshake(fixture.previewHost)}`,
    );
    expect(raw).toBe('');
  });
}
