import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  answerer,
  createGatewayProbe,
  type GatewayFailure,
} from '#adapters/kubernetes/previews/gateway-probe.ts';
import {
  authorityFiles,
  type Certificate,
  issueCertificate,
  makeAuthority,
} from '#test/cluster/fixture/certificate-authority.ts';

const OURS = { 'referrer-policy': 'same-origin', 'x-robots-tag': 'noindex, nofollow' };

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
  ['a 404 that only an app sets a header on', 404, { 'referrer-policy': 'same-origin' }, 'nothing'],
  ['a 502 of the gateway', 502, {}, 'gateway'],
  ['a 503 of the gateway', 503, {}, 'gateway'],
  ['a 504 of the gateway', 504, {}, 'gateway'],
  [
    'Porthole’s page for a preview that is starting',
    503,
    { 'referrer-policy': 'no-referrer', 'x-porthole-status': 'starting' },
    'nothing',
  ],
  ['Porthole’s page, whatever its status', 200, { 'x-porthole-status': 'unknown' }, 'nothing'],
  ['the guest’s page, through the route', 502, { ...OURS, 'x-porthole-status': 'nothing_listens' }, 'route'],
  ['the guest’s page for a host that is not open', 404, { ...OURS, 'x-porthole-status': 'unknown' }, 'route'],
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
    expect(await reset.ask('127.0.0.1', 'a-preview.preview.test', soon())).toBe('unreachable');
    const garbage = await probeOf((req) => req.socket.end('what?\r\n\r\n'));
    expect(await garbage.ask('127.0.0.1', 'a-preview.preview.test', soon())).toBe('unreachable');
    const closed = createGatewayProbe({ host: '127.0.0.1', port: 1 });
    expect(await closed.ask('127.0.0.1', 'a-preview.preview.test', soon())).toBe('unreachable');
  });

  describe('over TLS', () => {
    const folder = mkdtempSync(join(tmpdir(), 'porthole-probe-'));
    let issued: Certificate;
    beforeAll(async () => {
      for (const name of ['ours', 'other']) {
        mkdirSync(join(folder, name));
        await makeAuthority(join(folder, name));
      }
      issued = await issueCertificate(join(folder, 'ours'), 'gateway', {
        commonName: 'gateway',
        use: 'server',
        dnsNames: ['*.preview.test'],
      });
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    const gateway = async (authority: string) => {
      const server = createTlsServer({ cert: issued.certificate, key: issued.key }, (_req, res) =>
        res.writeHead(200, OURS).end(),
      ).listen(0, '127.0.0.1');
      servers.push(server);
      await once(server, 'listening');
      const failures: GatewayFailure[] = [];
      const probe = createGatewayProbe({
        host: '127.0.0.1',
        port: (server.address() as AddressInfo).port,
        tls: { ca: readFileSync(authorityFiles(join(folder, authority)).certificate, 'utf8'), verify: true },
        failed: (failure) => failures.push(failure),
      });
      return { ask: (hostname: string) => probe.ask('127.0.0.1', hostname, soon()), failures };
    };

    test('takes the answer of a gateway whose certificate it trusts', async () => {
      const { ask, failures } = await gateway('ours');
      expect(await ask('a-preview.preview.test')).toBe('app');
      expect(failures).toEqual([]);
    });

    test.each<[string, string, string, RegExp]>([
      [
        'an authority that is not the gateway’s',
        'other',
        'a-preview.preview.test',
        /UNABLE|SELF_SIGNED|CERT/,
      ],
      ['a certificate for another host', 'ours', 'elsewhere.test', /ALTNAME/],
    ])('reports %s', async (_title, authority, hostname, code) => {
      const { ask, failures } = await gateway(authority);
      expect(await ask(hostname)).toBe('untrusted');
      expect(failures).toMatchObject([
        { proxy: '127.0.0.1', hostname, isTls: true, error: { code: expect.stringMatching(code) } },
      ]);
    });

    test('reports a gateway that speaks no TLS, and one that resets', async () => {
      const ask = async (listener: RequestListener, onConnection?: (socket: Socket) => void) => {
        const server = createServer(listener).listen(0, '127.0.0.1');
        servers.push(server);
        if (onConnection) server.on('connection', onConnection);
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        const probe = createGatewayProbe({ host: '127.0.0.1', port, tls: { verify: true } });
        return probe.ask('127.0.0.1', 'a-preview.preview.test', soon());
      };
      expect(await ask((_req, res) => res.end())).toBe('untrusted');
      expect(
        await ask(
          () => undefined,
          (socket) => socket.resetAndDestroy(),
        ),
      ).toBe('unreachable');
    });
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
