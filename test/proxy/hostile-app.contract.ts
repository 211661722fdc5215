import { afterEach, describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  fetchRaw,
  type GatewayFixture,
  type Listener,
  openRaw,
  sendRaw,
  startCanned,
  startTcp,
  statusesOf,
  type StartGateway,
} from './gateway-fixture.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const SMALL = `${OK}Content-Length: 5\r\n\r\nhello`;
const INJECTED = `${OK}Content-Length: 8\r\nX-Injected: yes\r\n\r\ninjected`;

/**
 * Attacks of a hostile app on its visitors that must fail, for any location of the preview's proxy.
 */
export function hostileAppContract(startGateway: StartGateway): void {
  let open: Listener[] = [];
  afterEach(async () => {
    for (const listener of open.toReversed()) await listener.close();
    open = [];
  });

  async function before(app: Listener): Promise<GatewayFixture> {
    const fixture = await startGateway(app.port);
    open.push(app, fixture);
    return fixture;
  }

  describe('an answer that is not HTTP/1.1 as it should be becomes a 502 page', () => {
    test.each([
      [
        'length and chunks',
        `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        'its length more than once',
      ],
      [
        'two lengths',
        `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
        'its length more than once',
      ],
      ['a bad status line', 'HTTP/1.1 OK\r\n\r\n', 'status line'],
      ['another protocol', '220 mail.example ESMTP\r\n\r\n', 'status line'],
      ['bare line feeds', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', 'bare line feed'],
      ['a folded header', `${OK}X: a\r\n b\r\n\r\n`, 'folded'],
      ['a space before a colon', `${OK}Content-Length : 5\r\n\r\nhello`, 'malformed'],
      ['a giant head', `${OK}X: ${'y'.repeat(100_000)}\r\n\r\n`, '64 KiB'],
      ['an endless head', OK + 'X: y\r\n'.repeat(50_000), '64 KiB'],
      ['an encoding without a request for it', `${OK}Transfer-Encoding: gzip\r\n\r\n`, 'Transfer-Encoding'],
      [
        'a 101 without a request for it',
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
        'switched protocols',
      ],
      ['informational responses without end', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(40), 'informational'],
    ])('%s', async (_, bytes, why) => {
      const fixture = await before(await startCanned(bytes));
      const answer = await fetchRaw(fixture.port, fixture.previewHost);
      const said = JSON.parse(answer.body) as { error: string; code: string };
      expect(answer.status).toBe(502);
      expect(answer.headers['x-porthole-status']).toBe('bad_response');
      expect(said.code).toBe('bad_response');
      expect(said.error).toContain(why);
      expect(answer.raw).not.toContain(fixture.previewHost);
    });

    test('shows the page when the connection closes without an answer', async () => {
      const fixture = await before(await startTcp((socket) => socket.once('data', () => socket.end())));
      expect((await fetchRaw(fixture.port, fixture.previewHost)).headers['x-porthole-status']).toBe(
        'bad_response',
      );
    });
  });

  describe('an answer that breaks off', () => {
    test.each([
      ['within its length', `${OK}Content-Length: 50\r\n\r\nhello`],
      ['within a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n50\r\nhello`],
      ['before its last chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
      ['by a malformed chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`],
    ])('%s reaches the client broken off, not ended', async (_, bytes) => {
      const fixture = await before(await startCanned(bytes, true));
      const { raw } = await fetchRaw(fixture.port, fixture.previewHost, '/', { Connection: 'keep-alive' });
      expect(raw).not.toContain('\r\n0\r\n\r\n');
      expect(raw.length === 0 || !/Content-Length: 5\r/.test(raw)).toBe(true);
    });
  });

  describe('bytes that the app sends without being asked', () => {
    const two = (host: string): string =>
      `GET /1 HTTP/1.1\r\nHost: ${host}\r\n\r\nGET /2 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

    test.each([
      ['a second response in one packet', SMALL + INJECTED],
      ['bytes behind the length', `${SMALL} and more`],
      [
        'bytes behind the last chunk',
        `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n${INJECTED}`,
      ],
      ['a body on a 204', `HTTP/1.1 204 No Content\r\nContent-Length: ${INJECTED.length}\r\n\r\n${INJECTED}`],
      ['a body on a 304', `HTTP/1.1 304 Not Modified\r\n\r\n${INJECTED}`],
    ])('%s never become the answer to the next request', async (_, bytes) => {
      const app = await startCanned(bytes);
      const fixture = await before(app);
      const answer = await sendRaw(fixture.port, two(fixture.previewHost));
      expect(statusesOf(answer)).toHaveLength(2);
      expect(answer).not.toContain('X-Injected');
      expect(app.heads.map((head) => head.split(' ')[1])).toEqual(['/1', '/2']);
      expect(fixture.dials()).toBe(2);
    });

    test('do not become the answer to the next request as a body on the answer to a HEAD', async () => {
      const app = await startCanned(`${OK}Content-Length: ${INJECTED.length}\r\n\r\n${INJECTED}`);
      const fixture = await before(app);
      const answer = await sendRaw(fixture.port, two(fixture.previewHost).replace('GET /1', 'HEAD /1'));
      expect(statusesOf(answer.slice(0, answer.indexOf('\r\n\r\n')))).toEqual([200]);
      expect(app.heads).toHaveLength(2);
      expect(fixture.dials()).toBe(2);
    });

    test('close an idle connection as a response on it', async () => {
      const app = await startTcp((socket) => {
        socket.once('data', () => {
          socket.write(SMALL);
          setImmediate(() => socket.write(INJECTED));
        });
      });
      const fixture = await before(app);
      await fetchRaw(fixture.port, fixture.previewHost);
      const again = await fetchRaw(fixture.port, fixture.previewHost);
      expect(again.raw).not.toContain('X-Injected');
    });

    test('keep both connections in step as an early answer to half an upload', async () => {
      const app = await startTcp((socket) => {
        socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n'));
      });
      const fixture = await before(app);
      const hidden = `GET /hidden HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n`;
      const client = await openRaw(fixture.port);
      client.send(
        `POST / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nContent-Length: ${hidden.length + 3}\r\n\r\nabc`,
      );
      await client.until('413 Too Large');
      client.send(hidden);
      client.send(`GET /next HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nConnection: close\r\n\r\n`);
      const answer = await client.closed;
      expect(statusesOf(answer)).toEqual([413, 413]);
      expect(fixture.dials()).toBe(2);
    });
  });

  test('sends an early answer whole, to a client that reads once all is sent', async () => {
    const body = 'b'.repeat(500_000);
    const app = await startTcp((socket) => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 413 Too Large\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      });
    });
    const fixture = await before(app);
    const client = connect({ port: fixture.port, host: '127.0.0.1' }).on('error', () => undefined);
    // More than the kernel buffers on the way.
    const upload = Buffer.alloc(24 * 1024 * 1024, 'u');
    client.write(
      `POST / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nConnection: close\r\nContent-Length: ${upload.length}\r\n\r\n`,
    );
    const failed = await new Promise((resolve) => client.write(upload, resolve));
    const answer = await text(client);
    expect(failed ?? undefined).toBeUndefined();
    expect(answer.slice(0, 12)).toBe('HTTP/1.1 413');
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(body);
  });

  describe('a header that only the gateway may set', () => {
    test('is dropped from the app’s answer', async () => {
      const fixture = await before(
        await startCanned(
          `${OK}Content-Length: 0\r\nX-Porthole-Status: expired\r\nReferrer-Policy: unsafe-url\r\nX-Robots-Tag: all\r\nX-Hop: 1\r\nConnection: X-Hop\r\nKeep-Alive: timeout=9\r\nUpgrade: h2c\r\n\r\n`,
        ),
      );
      const { headers } = await fetchRaw(fixture.port, fixture.previewHost);
      delete headers['date'];
      expect(headers).toEqual({
        connection: 'close',
        'content-length': '0',
        'referrer-policy': 'same-origin',
        'x-robots-tag': 'noindex, nofollow',
      });
    });
  });
}
