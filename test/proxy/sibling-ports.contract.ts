import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import {
  dialLoopback,
  FOREIGN_PORT,
  fetchRaw,
  type GatewayFixture,
  type Listener,
  openRaw,
  SIBLING_PORT,
  startApp,
  type StartGateway,
} from './gateway-fixture.ts';

const BELOW = `/.porthole/${SIBLING_PORT}`;

/** The app of another port, below the host of a preview, for any location of the proxy. */
export function siblingPortsContract(startGateway: StartGateway): void {
  describe('the port of a sibling below a preview’s host', () => {
    let open: Listener[] = [];
    afterEach(async () => {
      for (const listener of open.toReversed()) await listener.close();
      open = [];
    });

    type Handler = (req: IncomingMessage, res: ServerResponse) => void;

    /** The page's app says `page`; the sibling is `app`, with WebSockets that echo. */
    const serve = async (app: Handler): Promise<GatewayFixture & { readonly pagePort: number }> => {
      const [page, sibling] = await Promise.all([startApp((_, res) => void res.end('page')), startApp(app)]);
      new WebSocketServer({ server: sibling.server }).on('connection', (socket, req) =>
        socket.on('message', (data) =>
          socket.send(`${req.url} ${req.headers.origin} ${(data as Buffer).toString()}`),
        ),
      );
      const fixture = await startGateway(page.port, {
        dial: ({ targetPort }) =>
          dialLoopback({ targetPort: targetPort === SIBLING_PORT ? sibling.port : targetPort }),
      });
      open.push(page, sibling, fixture);
      return { ...fixture, pagePort: page.port };
    };
    const get = (
      { port, previewHost }: GatewayFixture,
      path: string,
      headers: Record<string, string> = {},
      method = 'GET',
    ) => fetchRaw(port, previewHost, path, headers, method);

    test.each([
      [`${BELOW}/a/b?c=d`, '/a/b?c=d'],
      [`${BELOW}/`, '/'],
      [BELOW, '/'],
      [`${BELOW}?c=d`, '/?c=d'],
      [`${BELOW}//a`, '//a'],
      [`${BELOW}/.porthole/1/a`, '/.porthole/1/a'],
    ])('gets %s as %s', async (path, seen) => {
      const fixture = await serve((req, res) => void res.end(`${req.headers.host} ${req.url}`));
      expect((await get(fixture, path)).body).toBe(`localhost:${SIBLING_PORT} ${seen}`);
    });

    test.each([`/.porthole/${FOREIGN_PORT}/`, '/.porthole/9/', '/.porthole/65535/', '/.porthole/99999/'])(
      'is not reached where no preview of the run is: %s',
      async (path) => {
        const fixture = await serve((_, res) => void res.end('sibling'));
        const { status, headers } = await get(fixture, path);
        expect([status, headers['x-porthole-status']]).toEqual([404, 'not_open']);
      },
    );

    test.each([
      `/.porthole/0${SIBLING_PORT}/`,
      `${BELOW}x/`,
      `/.Porthole/${SIBLING_PORT}/`,
      '/.porthole/',
      `//.porthole/${SIBLING_PORT}/`,
      `/a/..${BELOW}/`,
    ])('leaves %s to the app of the page', async (path) => {
      const fixture = await serve((_, res) => void res.end('sibling'));
      expect((await get(fixture, path)).body).toBe('page');
    });

    test('leaves the page for reports and the script for localhost to the gateway', async () => {
      const fixture = await serve((_, res) => void res.end('sibling'));
      const report = await get(fixture, '/.porthole/report?a', { Accept: 'text/html' });
      expect([report.status, report.headers['x-porthole-status']]).toEqual([200, 'report']);
      expect(report.body).toContain('mailto:abuse@porthole.test');
      expect(report.body).toContain(fixture.previewHost);
      const script = await get(fixture, '/.porthole/localhost.js?a');
      expect([script.status, script.headers['content-type']]).toEqual([
        200,
        'text/javascript; charset=utf-8',
      ]);
    });

    test('is also the page’s own app, by its port', async () => {
      const fixture = await serve((_, res) => void res.end('sibling'));
      expect((await get(fixture, `/.porthole/${fixture.pagePort}/x`)).body).toBe('page');
    });

    test('sees the page as the browser would show it on localhost', async () => {
      const fixture = await serve((req, res) => {
        const { origin, referer, cookie } = req.headers;
        res.end(JSON.stringify([origin, referer, cookie, req.headers['x-forwarded-host']]));
      });
      const { scheme, previewHost, pagePort } = fixture;
      const own = `${scheme}://${previewHost}`;
      const seen = async (referer: string) =>
        JSON.parse(
          (
            await get(
              fixture,
              `${BELOW}/`,
              { Origin: own, Referer: referer, Cookie: 'a=b; porthole-session=c' },
              'POST',
            )
          ).body,
        );
      const local = `http://localhost:${pagePort}`;
      expect(await seen(`${own}/p?q`)).toEqual([local, `${local}/p?q`, 'a=b', null]);
      expect(await seen(`${own}${BELOW}/p?q`)).toEqual([
        local,
        `http://localhost:${SIBLING_PORT}/p?q`,
        'a=b',
        null,
      ]);
    });

    test('refuses other sites where dev servers would, below its path too', async () => {
      const fixture = await serve((_, res) => void res.end('sibling'));
      const answer = await get(fixture, `${BELOW}/_next/x`, { Origin: 'https://evil.example' });
      expect(answer.headers['x-porthole-status']).toBe('foreign_origin');
    });

    test('leads to where it is below the host', async () => {
      const fixture = await serve((req, res) => {
        const location = new URL(req.url ?? '', 'http://x').searchParams.get('to') ?? '';
        res.writeHead(302, { location }).end();
      });
      const { scheme, previewHost, pagePort } = fixture;
      const own = `${scheme}://${previewHost}`;
      const ledTo = async (to: string) =>
        (await get(fixture, `${BELOW}/?${new URLSearchParams({ to }).toString()}`)).headers['location'];
      expect(await ledTo('/login?a')).toBe(`${BELOW}/login?a`);
      expect(await ledTo('login')).toBe('login');
      expect(await ledTo('//evil.example/')).toBe('//evil.example/');
      expect(await ledTo('https://evil.example/')).toBe('https://evil.example/');
      expect(await ledTo(`http://localhost:${SIBLING_PORT}/a`)).toBe(`${own}${BELOW}/a`);
      expect(await ledTo(`http://127.0.0.1:${pagePort}/a`)).toBe(`${own}/a`);
      expect(await ledTo(`${own}/a`)).toBe(`${own}${BELOW}/a`);
      expect(await ledTo(`${own}${BELOW}/a`)).toBe(`${own}${BELOW}/a`);
    });

    test.each([
      ['a=b; Path=/; HttpOnly', 'a=b; Path=/; HttpOnly'],
      ['a=b', 'a=b'],
      ['a=b; Domain=localhost; path=/api; Secure', `a=b; path=${BELOW}/api; Secure`],
      ['__Host-porthole-view=c; Path=/', undefined],
    ])('sets the cookie %s as %s', async (sent, kept) => {
      const fixture = await serve((_, res) => void res.setHeader('set-cookie', sent).end());
      expect((await get(fixture, `${BELOW}/`)).headers['set-cookie']).toBe(kept);
    });

    test('counts its use as use of the page, too', async () => {
      const fixture = await serve((_, res) => void res.end('sibling'));
      expect(fixture.uses()).toBe(0);
      expect((await get(fixture, `${BELOW}/`)).body).toBe('sibling');
      expect(fixture.uses()).toBeGreaterThan(0);
    });

    test('streams, and ends with the preview of its host', async () => {
      const fixture = await serve((_, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write('data: first\n\n');
      });
      const client = await openRaw(fixture.port);
      client.send(`GET ${BELOW}/events HTTP/1.1\r\nHost: ${fixture.previewHost}\r\n\r\n`);
      await client.until('data: first');
      fixture.revoke();
      expect(await client.closed).toContain('data: first');
    });

    test('opens WebSockets of the page, ends them with it, and refuses those of other sites', async () => {
      const fixture = await serve((_, res) => void res.end('sibling'));
      const { scheme, previewHost, port, pagePort } = fixture;
      const connect = (origin: string) =>
        new WebSocket(`ws://127.0.0.1:${port}${BELOW}/live?a`, { headers: { host: previewHost, origin } });
      const socket = connect(`${scheme}://${previewHost}`);
      await once(socket, 'open');
      socket.send('hi');
      const [data] = (await once(socket, 'message')) as [Buffer];
      expect(String(data)).toBe(`/live?a http://localhost:${pagePort} hi`);
      const foreign = connect('https://evil.example');
      const [{ message }] = (await once(foreign, 'error')) as [Error];
      expect(message).toContain('403');
      fixture.revoke();
      await once(socket, 'close');
    });
  });
}
