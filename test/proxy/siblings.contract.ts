import { afterEach, describe, expect, test } from '@jest/globals';
import {
  FOREIGN_PORT,
  FOREIGN_TOKEN,
  fetchRaw,
  type GatewayFixture,
  type Listener,
  SIBLING_PORT,
  SIBLING_TOKEN,
  startApp,
  type StartGateway,
} from './gateway-fixture.ts';

/** Two previews of a run, for any location of the proxy. */
export function siblingsContract(startGateway: StartGateway): void {
  describe('a sibling preview', () => {
    let open: Listener[] = [];
    afterEach(async () => {
      for (const listener of open.toReversed()) await listener.close();
      open = [];
    });

    /** An app that sends the header of its query, and returns the Origin it sees. */
    const serve = async (): Promise<GatewayFixture> => {
      const app = await startApp((req, res) => {
        const [[name, value] = ['', '']] = new URL(req.url ?? '', 'http://x').searchParams;
        res.setHeader(name, value).end(req.headers.origin);
      });
      const fixture = await startGateway(app.port);
      open.push(app, fixture);
      return fixture;
    };
    const originOf = (token: string, { scheme, port }: GatewayFixture): string =>
      `${scheme}://${token}-preview.localhost:${port}`;

    test.each(['Location', 'Access-Control-Allow-Origin', 'Refresh'])(
      'is what a local port in %s leads to',
      async (name) => {
        const fixture = await serve();
        const received = async (url: string): Promise<string | undefined> => {
          const value = name === 'Refresh' ? `5; url=${url}` : url;
          const query = new URLSearchParams([[name, value]]);
          const { headers } = await fetchRaw(fixture.port, fixture.previewHost, `/?${query.toString()}`);
          return headers[name.toLowerCase()]?.replace('5; url=', '');
        };
        const path = name === 'Access-Control-Allow-Origin' ? '' : '/a?b';
        const public_ = originOf(SIBLING_TOKEN, fixture) + path;
        expect(await received(`http://localhost:${SIBLING_PORT}${path}`)).toBe(public_);
        expect(await received(`http://127.0.0.1:${SIBLING_PORT}${path}`)).toBe(public_);
        for (const url of [
          // A preview of another run, and a port without a preview.
          `http://localhost:${FOREIGN_PORT}${path}`,
          `http://localhost:9${path}`,
          `http://example.com:${SIBLING_PORT}${path}`,
        ]) {
          expect(await received(url)).toBe(url);
        }
      },
    );

    test('is seen as its own origin on localhost, and a preview of another run is not', async () => {
      const fixture = await serve();
      const seen = async (Origin: string): Promise<string> => {
        const path = '/?X-A=b';
        return (await fetchRaw(fixture.port, fixture.previewHost, path, { Origin }, 'POST')).body;
      };
      expect(await seen(originOf(SIBLING_TOKEN, fixture))).toBe(`http://localhost:${SIBLING_PORT}`);
      for (const origin of [
        originOf(FOREIGN_TOKEN, fixture),
        originOf(SIBLING_TOKEN, { ...fixture, port: 1 }),
        `${originOf(SIBLING_TOKEN, fixture)}.evil.example`,
      ]) {
        expect(await seen(origin)).toBe(origin);
      }
    });
  });
}
