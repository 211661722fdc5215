import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { duplexPair } from 'node:stream';
import {
  FOREIGN_TOKEN,
  fetchRaw,
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
  type StartGateway,
} from './gateway-fixture.ts';

/** The data path of a preview, for any location of its proxy. */
export function previewProxyContract(startGateway: StartGateway): void {
  let open: Listener[] = [];
  afterEach(async () => {
    for (const listener of open.toReversed()) await listener.close();
    open = [];
  });

  type Handler = (req: IncomingMessage, res: ServerResponse) => void;

  async function gateway(
    app: Handler,
    overrides: Parameters<StartGateway>[1] = {},
  ): Promise<GatewayFixture & { appPort: number }> {
    const listener = await startApp(app);
    const fixture = await startGateway(listener.port, overrides);
    open.push(listener, fixture);
    return { ...fixture, appPort: listener.port };
  }

  const echo: Handler = (req, res) => res.end(JSON.stringify({ url: req.url, headers: req.rawHeaders }));

  /** The headers that the app receives, by lower-case name. */
  async function seenBy(
    fixture: GatewayFixture,
    headers: Record<string, string>,
    path = '/',
    method = 'GET',
  ): Promise<Record<string, string>> {
    const answer = await fetchRaw(fixture.port, fixture.previewHost, path, headers, method);
    const body = Buffer.from(answer.body, 'latin1').toString();
    const raw = (JSON.parse(body) as { headers: string[] }).headers;
    const seen: Record<string, string> = {};
    for (let at = 0; at < raw.length; at += 2) {
      const name = (raw[at] as string).toLowerCase();
      seen[name] = seen[name] === undefined ? (raw[at + 1] as string) : `${seen[name]}, ${raw[at + 1]}`;
    }
    return seen;
  }

  describe('the request that the app gets', () => {
    test('comes to localhost, with what the gateway knows said once', async () => {
      const fixture = await gateway(echo);
      const seen = await seenBy(fixture, {
        'X-Forwarded-Host': 'evil.example',
        'X-Forwarded-For': '6.6.6.6',
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Prefix': '/evil',
        X_Forwarded_Host: 'evil.example',
        Forwarded: 'for=6.6.6.6',
        'X-Real-IP': '6.6.6.6',
        'X-Porthole-Run': 'run_2',
        Proxy: 'http://6.6.6.6/',
      });
      expect(seen).toEqual({
        host: `localhost:${fixture.appPort}`,
        'x-forwarded-host': fixture.previewHost,
        'x-forwarded-proto': fixture.scheme,
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-port': String(fixture.port),
      });
    });

    test('keeps the app’s own Authorization and cookies, and loses what concerns one connection', async () => {
      const fixture = await gateway(echo);
      const seen = await seenBy(fixture, {
        Connection: 'close, X-Hop',
        'X-Hop': '1',
        'Keep-Alive': 'timeout=5',
        TE: 'trailers',
        'Proxy-Authorization': 'Basic x',
        Authorization: 'Bearer theirs',
        Cookie: 'a=b; c=d',
        'X-Caf': 'caf\xe9',
      });
      expect(seen).toMatchObject({ authorization: 'Bearer theirs', cookie: 'a=b; c=d', 'x-caf': 'café' });
      expect(Object.keys(seen)).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(connection|keep-alive|te|x-hop|proxy-.*)$/)]),
      );
    });

    test.each(['/', '/login?next=/', '/_next/x'])(
      'has the app’s own Origin when a page of the preview sends it (%s)',
      async (path) => {
        const fixture = await gateway(echo);
        const own = `${fixture.scheme}://${fixture.previewHost}`;
        const seen = await seenBy(fixture, { Origin: own, Referer: `${own}/login?a=b` }, path, 'POST');
        // Apps that compare Origin, Referer, Host and X-Forwarded-Host find them equal.
        expect(seen).toEqual({
          host: `localhost:${fixture.appPort}`,
          origin: `http://localhost:${fixture.appPort}`,
          referer: `http://localhost:${fixture.appPort}/login?a=b`,
          ...(fixture.scheme === 'http' && { 'x-forwarded-proto': 'http' }),
          'x-forwarded-for': '127.0.0.1',
        });
      },
    );

    test('keeps X-Forwarded-Host where no Origin is sent, and has the app’s own Referer', async () => {
      const fixture = await gateway(echo);
      const seen = await seenBy(fixture, { Referer: `${fixture.scheme}://${fixture.previewHost}/` });
      expect(seen['x-forwarded-host']).toBe(fixture.previewHost);
      expect(seen['referer']).toBe(`http://localhost:${fixture.appPort}/`);
    });

    test.each(['https://evil.example', 'null', `http://${FOREIGN_TOKEN}-preview.localhost`])(
      'keeps a foreign Origin and Referer (%s)',
      async (Origin) => {
        const fixture = await gateway(echo);
        const seen = await seenBy(fixture, { Origin, Referer: `${Origin}/a` }, '/api', 'POST');
        expect(seen).toMatchObject({
          origin: Origin,
          referer: `${Origin}/a`,
          'x-forwarded-host': fixture.previewHost,
        });
      },
    );

    test('has a sibling’s Origin rewritten to its own local one', async () => {
      const fixture = await gateway(echo);
      const sibling = `${fixture.scheme}://${SIBLING_TOKEN}-preview.localhost:${fixture.port}`;
      for (const path of ['/_next/x', '/api']) {
        const seen = await seenBy(fixture, { Origin: sibling }, path);
        expect(seen['origin']).toBe(`http://localhost:${SIBLING_PORT}`);
        expect(seen).not.toHaveProperty('x-forwarded-host');
      }
    });

    test('never carries the console’s cookies', async () => {
      const fixture = await gateway(echo);
      const Cookie = 'a=b; porthole-session=secret; __Host-porthole-sign-in=secret;c=porthole-session=d';
      expect((await seenBy(fixture, { Cookie }))['cookie']).toBe('a=b;c=porthole-session=d');
      expect(await seenBy(fixture, { Cookie: '__Host-porthole-session=secret' })).not.toHaveProperty(
        'cookie',
      );
    });

    test('is not sent under /_next/ for a page of another site', async () => {
      const fixture = await gateway(echo);
      for (const origin of [
        'https://evil.example',
        'null',
        `http://${FOREIGN_TOKEN}-preview.localhost:${fixture.port}`,
      ]) {
        const { status, headers } = await fetchRaw(fixture.port, fixture.previewHost, '/_next/x', {
          Origin: origin,
        });
        expect([status, headers['x-porthole-status']]).toEqual([403, 'foreign_origin']);
      }
      expect(fixture.dials()).toBe(0);
    });
  });

  describe('the response that the client gets', () => {
    test('has cookies without Domain, redirects to itself and the headers that keep the URL secret', async () => {
      const fixture = await gateway((req, res) => {
        res.writeHead(302, {
          Location: `http://${req.headers.host}/next`,
          'Set-Cookie': ['a=b; Domain=localhost; Path=/', 'c=d'],
          'Referrer-Policy': 'unsafe-url',
          'X-Robots-Tag': 'all',
        });
        res.end();
      });
      const { raw, headers } = await fetchRaw(fixture.port, fixture.previewHost);
      expect(headers['location']).toBe(`${fixture.scheme}://${fixture.previewHost}/next`);
      expect(raw.match(/^Set-Cookie: .*$/gm)).toEqual(
        ['Set-Cookie: a=b; Path=/\r', 'Set-Cookie: c=d\r'].map((l) => l.trim()),
      );
      expect(raw.match(/^referrer-policy: .*$/gim)).toEqual(['Referrer-Policy: same-origin']);
      expect(raw.match(/^x-robots-tag: .*$/gim)).toEqual(['X-Robots-Tag: noindex, nofollow']);
    });

    test.each([
      ['HEAD', 200],
      ['GET', 204],
      ['GET', 304],
    ])('has no body where HTTP allows no body (%s, %i)', async (method, status) => {
      const fixture = await gateway((_, res) => res.writeHead(status, { ETag: '"x"' }).end());
      const answer = await fetchRaw(fixture.port, fixture.previewHost, '/', {}, method);
      expect([answer.status, answer.body, answer.headers['etag']]).toEqual([status, '', '"x"']);
    });

    test('carries early hints ahead of it', async () => {
      const app = await startCanned(
        'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload; as=style\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      );
      const fixture = await startGateway(app.port);
      open.push(app, fixture);
      const { raw } = await fetchRaw(fixture.port, fixture.previewHost);
      expect(statusesOf(raw)).toEqual([103, 200]);
      expect(raw).toContain('Link: </a.css>; rel=preload; as=style\r\n');
    });

    test('carries several early hints, without those that Node refuses', async () => {
      const kept = [
        '</a,b.css>; rel=preload; as=style',
        '</b.js>; rel="modulepreload"; crossorigin',
        '<https://fonts.example>; rel=preconnect',
      ];
      const refused = '</c.png>; rel=preload; imagesizes="(width > 600px), 100vw"';
      const app = await startCanned(
        `HTTP/1.1 103 Early Hints\r\nLink: ${kept[0]}, ${refused},${kept[1]}\r\nlink: ${kept[2]}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
      );
      const fixture = await startGateway(app.port);
      open.push(app, fixture);
      const { raw } = await fetchRaw(fixture.port, fixture.previewHost);
      expect(statusesOf(raw)).toEqual([103, 200]);
      expect(raw).toContain(`Link: ${kept.join(', ')}\r\n`);
    });

    test('lasts until an HTTP/1.0 server closes', async () => {
      const app = await startCanned('HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold but good', true);
      const fixture = await startGateway(app.port);
      open.push(app, fixture);
      const { raw } = await fetchRaw(fixture.port, fixture.previewHost);
      expect(raw).toMatch(/\r\n\r\nc\r\nold but good\r\n0\r\n\r\n$/);
    });

    test('is not chunked for an HTTP/1.0 client', async () => {
      const fixture = await gateway((_, res) => {
        res.write('a');
        res.end('b');
      });
      const raw = await sendRaw(fixture.port, `GET / HTTP/1.0\r\nHost: ${fixture.previewHost}\r\n\r\n`);
      expect(raw).not.toMatch(/transfer-encoding/i);
      expect(raw.endsWith('\r\n\r\nab')).toBe(true);
    });
  });

  describe('bodies stream', () => {
    test('delivers an event to the client before the next one is sent', async () => {
      let stream: ServerResponse | undefined;
      const fixture = await gateway((_, res) => {
        stream = res.writeHead(200, { 'Content-Type': 'text/event-stream' });
        res.flushHeaders();
      });
      const client = await openRaw(fixture.port);
      client.send(`GET / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n`);
      await client.until('text/event-stream');
      stream?.write('data: 1\n\n');
      await client.until('data: 1\n\n');
      stream?.write('data: 2\n\n');
      await client.until('data: 2\n\n');
      client.socket.destroy();
      await once(stream as ServerResponse, 'close');
    });

    test('up and down at once', async () => {
      const fixture = await gateway((req, res) => req.pipe(res));
      const client = await openRaw(fixture.port);
      client.send(
        `POST / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      client.send('5\r\nfirst\r\n');
      await client.until('first');
      client.send('6\r\nsecond\r\n0\r\n\r\n');
      expect((await client.closed).endsWith('\r\n6\r\nsecond\r\n0\r\n\r\n')).toBe(true);
    });

    const MB = 1024 * 1024;
    test.each([
      ['with a length', { 'Content-Length': String(24 * MB) }],
      ['in chunks', {}],
    ])('%s, a slow client slows the app down and misses nothing', async (_, headers) => {
      let sent = 0;
      const fixture = await gateway((_req, res) => {
        res.writeHead(200, headers);
        const block = Buffer.alloc(64 * 1024, 'Z');
        const more = (): void => {
          while (sent < 24 * MB) {
            sent += block.length;
            if (!res.write(block)) return;
          }
          res.end();
        };
        res.on('drain', more);
        more();
      });
      const client = await openRaw(fixture.port);
      client.socket.pause();
      client.send(`GET / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nConnection: close\r\n\r\n`);
      expect(await standsStill(() => sent)).toBeLessThan(24 * MB);
      client.socket.resume();
      const received = await client.closed;
      expect(received.split('Z').length - 1).toBe(24 * MB);
    });

    test('slows an upload down for a slow app, and delivers all of it', async () => {
      let received = 0;
      let request: IncomingMessage | undefined;
      const fixture = await gateway((req, res) => {
        request = req.pause();
        req.on('data', (part: Buffer) => {
          received += part.length;
        });
        req.on('end', () => res.end(`got ${received}`));
        req.pause();
      });
      const client = await openRaw(fixture.port);
      client.send(
        `POST / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nConnection: close\r\nContent-Length: ${24 * MB}\r\n\r\n`,
      );
      client.send(Buffer.alloc(24 * MB));
      await standsStill(() => (request === undefined ? 0 : client.socket.bytesWritten));
      await standsStill(() => client.socket.writableLength);
      request?.resume();
      expect(await client.closed).toContain(`got ${24 * MB}`);
    });

    test('sends 100 Continue to a client that expects it once the app answers', async () => {
      const fixture = await gateway((req, res) => {
        req.on('data', (part: Buffer) => res.end(`got ${part.toString()}`));
      });
      const client = await openRaw(fixture.port);
      client.send(
        `PUT / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`,
      );
      await client.until('HTTP/1.1 100 Continue\r\n\r\n');
      client.send('body');
      expect(statusesOf(await client.closed)).toEqual([100, 200]);
    });

    test('sends no 100 Continue where nothing listens', async () => {
      const app = await startApp(echo);
      await app.close();
      const fixture = await startGateway(app.port);
      open.push(fixture);
      const raw = await sendRaw(
        fixture.port,
        `PUT / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`,
      );
      expect(statusesOf(raw)).toEqual([502]);
    });
  });

  describe('connections to the app', () => {
    test('are kept for the next request', async () => {
      const fixture = await gateway(echo);
      for (let at = 0; at < 3; at += 1) await fetchRaw(fixture.port, fixture.previewHost);
      expect(fixture.dials()).toBe(1);
    });

    test('are replaced when they turn out to be closed, for a request that can be repeated', async () => {
      let connections = 0;
      const app = await startTcp((socket) => {
        connections += 1;
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
          // The second request on a connection is answered by its close.
          socket.once('data', () => socket.destroy());
        });
      });
      const fixture = await startGateway(app.port);
      open.push(app, fixture);
      expect((await fetchRaw(fixture.port, fixture.previewHost)).status).toBe(200);
      expect((await fetchRaw(fixture.port, fixture.previewHost)).status).toBe(200);
      expect(connections).toBe(2);
      expect(
        (await fetchRaw(fixture.port, fixture.previewHost, '/', {}, 'POST')).headers['x-porthole-status'],
      ).toBe('bad_response');
      expect(connections).toBe(2);
    });

    test('end when the client goes away', async () => {
      const closed = Promise.withResolvers<void>();
      const asked = Promise.withResolvers<void>();
      const fixture = await gateway((_, res) => {
        res.on('close', closed.resolve);
        asked.resolve();
      });
      const client = await openRaw(fixture.port);
      client.send(`GET / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n`);
      await asked.promise;
      client.socket.destroy();
      await closed.promise;
    });

    test('end when the client goes away in the middle of its upload', async () => {
      const aborted = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const fixture = await gateway((req) => {
        req.on('data', () => begun.resolve());
        req.on('error', () => aborted.resolve());
      });
      const client = await openRaw(fixture.port);
      client.send(`POST / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\nContent-Length: 100\r\n\r\nhalf`);
      await begun.promise;
      client.socket.destroy();
      await aborted.promise;
    });

    test('may be any byte stream', async () => {
      const fixture = await gateway(echo, {
        dial: async () => {
          const [near, far] = duplexPair();
          far.once('data', () => far.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npair'));
          return near;
        },
      });
      expect((await fetchRaw(fixture.port, fixture.previewHost)).body).toBe('pair');
    });
  });

  describe('the end of a preview', () => {
    test('closes its requests and its idle connections', async () => {
      const closed = Promise.withResolvers<void>();
      const fixture = await gateway((req, res) => {
        if (req.url === '/idle') {
          req.socket.once('close', closed.resolve);
          res.end();
        }
      });
      await fetchRaw(fixture.port, fixture.previewHost, '/idle');
      const client = await openRaw(fixture.port);
      const asked = once(client.socket, 'close');
      client.send(`GET /hangs HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n`);
      fixture.revoke();
      await closed.promise;
      client.socket.destroy();
      await asked;
    });

    test('cuts a response off', async () => {
      const fixture = await gateway((_, res) => void res.writeHead(200).write('begun'));
      const client = await openRaw(fixture.port);
      client.send(`GET / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n`);
      await client.until('begun');
      fixture.revoke();
      expect((await client.closed).endsWith('0\r\n\r\n')).toBe(false);
    });
  });

  describe('closing the proxy', () => {
    test('lets a request under way end', async () => {
      let answer: (() => void) | undefined;
      const asked = Promise.withResolvers<void>();
      const fixture = await gateway((_, res) => {
        answer = () => res.end('done');
        asked.resolve();
      });
      const waiting = fetchRaw(fixture.port, fixture.previewHost);
      await asked.promise;
      const closing = fixture.drain();
      expect((await fetchRaw(fixture.port, fixture.previewHost)).headers['x-porthole-status']).toBe(
        'starting',
      );
      answer?.();
      expect((await waiting).status).toBe(200);
      await closing;
    });

    test('ends what does not end by itself', async () => {
      const fixture = await gateway((_, res) => void res.writeHead(200).write('endless'));
      const client = await openRaw(fixture.port);
      client.send(`GET / HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n`);
      await client.until('endless');
      await fixture.drain(10);
      await client.closed;
    });
  });
}
