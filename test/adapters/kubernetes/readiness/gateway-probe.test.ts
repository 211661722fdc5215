import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { answerer, createGatewayProbe } from '#adapters/kubernetes/previews/readiness/gateway-probe.ts';

const OURS = { 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex, nofollow' };

test.each<[string, number, Record<string, string>, string]>([
  ['the app’s page', 200, OURS, 'app'],
  ['a redirect of the app', 302, OURS, 'app'],
  ['the app’s own 404, through the route', 404, OURS, 'app'],
  ['the app’s own 500', 500, OURS, 'app'],
  ['a 502 through the route', 502, OURS, 'route'],
  ['a 503 through the route', 503, OURS, 'route'],
  ['a 504 through the route', 504, OURS, 'route'],
  ['a page behind a gateway that sets no headers', 200, {}, 'app'],
  ['a 404 of the gateway', 404, {}, 'nothing'],
  ['a 404 that only an app sets a header on', 404, { 'referrer-policy': 'no-referrer' }, 'nothing'],
  ['a 502 of the gateway', 502, {}, 'gateway'],
  ['a 503 of the gateway', 503, {}, 'gateway'],
  ['a 504 of the gateway', 504, {}, 'gateway'],
  [
    'Porthole’s page for a preview that is starting',
    503,
    { ...OURS, 'x-porthole-status': 'starting' },
    'nothing',
  ],
  ['Porthole’s page, whatever its status', 200, { ...OURS, 'x-porthole-status': 'unknown' }, 'nothing'],
])('%s comes from who it comes from', (_name, statusCode, headers, from) => {
  expect(answerer({ statusCode, headers })).toBe(from);
});

describe('a probe', () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  });
  const probeOf = async (listener: RequestListener) => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return createGatewayProbe({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  };
  const soon = () => AbortSignal.timeout(5_000);

  test('asks for the page of the preview’s own host, once, on a connection of its own', async () => {
    const seen: unknown[] = [];
    const probe = await probeOf((req, res) => {
      seen.push([req.method, req.url, req.headers.host, req.headers.connection]);
      res.writeHead(200, OURS).end();
    });
    expect(await probe.proxies()).toEqual(['127.0.0.1']);
    expect(await probe.ask('127.0.0.1', 'a-preview.preview.test', soon())).toBe('app');
    expect(seen).toEqual([['GET', '/', 'a-preview.preview.test', 'close']]);
  });

  test('does not read a body that never ends', async () => {
    let closed = (): void => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const probe = await probeOf((_req, res) => {
      res.once('close', closed);
      res.writeHead(200, OURS);
      res.write('for ever');
    });
    expect(await probe.ask('127.0.0.1', 'a-preview.preview.test', soon())).toBe('app');
    await gone;
  });

  test('takes a reset, a refusal and an answer that is no HTTP for nobody', async () => {
    const reset = await probeOf((req) => req.socket.resetAndDestroy());
    expect(await reset.ask('127.0.0.1', 'a-preview.preview.test', soon())).toBe('nobody');
    const garbage = await probeOf((req) => req.socket.end('what?\r\n\r\n'));
    expect(await garbage.ask('127.0.0.1', 'a-preview.preview.test', soon())).toBe('nobody');
    const closed = createGatewayProbe({ host: '127.0.0.1', port: 1 });
    expect(await closed.ask('127.0.0.1', 'a-preview.preview.test', soon())).toBe('nobody');
  });

  test('waits for a slow app until it is given up', async () => {
    const probe = await probeOf(() => undefined);
    const caller = new AbortController();
    const asked = probe.ask('127.0.0.1', 'a-preview.preview.test', caller.signal);
    caller.abort(new Error('out of time'));
    await expect(asked).rejects.toThrow('out of time');
  });

  test('knows no proxy of a name that does not resolve', async () => {
    expect(await createGatewayProbe({ host: 'no-such-host.invalid', port: 1 }).proxies()).toEqual([]);
  });
});
