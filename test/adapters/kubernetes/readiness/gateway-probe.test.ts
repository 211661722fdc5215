import { X509Certificate } from 'node:crypto';
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
import { command } from '#test/cluster/fixture/command.ts';

const OURS = { 'referrer-policy': 'same-origin', 'x-robots-tag': 'noindex, nofollow' };
const PAGE = { ...OURS, 'content-type': 'text/plain' };

test.each<[string, number, Record<string, string>, string]>([
  ['the app’s page', 200, OURS, 'app'],
  ['a redirect of the app', 302, OURS, 'app'],
  ['the app’s own 404, through the route', 404, OURS, 'app'],
  ['a 500 with a page: by the app, or by a gateway that does not understand it', 500, PAGE, 'rejected'],
  ['an empty 500: by the app, or by a gateway that has not seen the Service', 500, OURS, 'failed'],
  ['a 400 through the route: by the app, or by a TLS server', 400, OURS, 'rejected'],
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
  [
    'the guest’s page for visitors without a visit',
    401,
    { ...OURS, 'x-porthole-status': 'access_required' },
    'guarded',
  ],
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

  test('requests the page of the preview’s own host once, on a separate connection', async () => {
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

  test('reports no answer after a reset, a refusal and an answer that is not HTTP', async () => {
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

    const gateway = async (authority?: string, { certificate, key } = issued) => {
      const server = createTlsServer({ cert: certificate, key }, (_req, res) =>
        res.writeHead(200, OURS).end(),
      ).listen(0, '127.0.0.1');
      servers.push(server);
      await once(server, 'listening');
      const failures: GatewayFailure[] = [];
      const probe = createGatewayProbe({
        host: '127.0.0.1',
        port: (server.address() as AddressInfo).port,
        tls:
          authority === undefined
            ? {}
            : { ca: readFileSync(authorityFiles(join(folder, authority)).certificate, 'utf8') },
        failed: (failure) => failures.push(failure),
      });
      return { probe, ask: (hostname: string) => probe.ask('127.0.0.1', hostname, soon()), failures };
    };

    test('accepts the answer of a gateway with a trusted certificate', async () => {
      const { ask, failures, probe } = await gateway('ours');
      expect(await ask('a-preview.preview.test')).toBe('app');
      expect([failures, probe.problems()]).toEqual([[], []]);
      expect(probe.certificateEnds()).toEqual(new Date(new X509Certificate(issued.certificate).validTo));
    });

    test.each<[string, string | undefined, string, RegExp]>([
      [
        'an authority that is not the gateway’s',
        'other',
        'a-preview.preview.test',
        /^The gateway's certificate is not signed by the authority in PORTHOLE_GATEWAY_CA \([A-Z_]+\): set it to the PEM file of its authority \(in a stack: gateway\.probe\.ca\)\.$/,
      ],
      [
        'an authority that the system does not know',
        undefined,
        'a-preview.preview.test',
        /^The gateway's certificate is not signed by an authority of the system \([A-Z_]+\): set PORTHOLE_GATEWAY_CA to the PEM file of its authority \(in a stack: gateway\.probe\.ca\)\.$/,
      ],
      [
        'a certificate for another host',
        'ours',
        'a-secret-token.elsewhere.test',
        /^The gateway's certificate is not valid for \*\.elsewhere\.test \(ERR_TLS_CERT_ALTNAME_INVALID\): .*PORTHOLE_GATEWAY_PROBE/,
      ],
    ])('names the setting to change for %s, once', async (_title, authority, hostname, problem) => {
      const { ask, failures, probe } = await gateway(authority);
      expect(await ask(hostname)).toBe('untrusted');
      expect(await ask(`b-${hostname}`)).toBe('untrusted');
      expect(failures).toMatchObject([{ proxy: '127.0.0.1', problem: expect.stringMatching(problem) }]);
      expect(probe.problems()).toEqual([failures[0]?.problem]);
    });

    const expired = async (): Promise<string> => {
      const [own, { certificate, key }] = [
        join(folder, 'ours', 'gateway'),
        authorityFiles(join(folder, 'ours')),
      ];
      const asked = ['-in', `${own}.crt`, '-signkey', `${own}.key`, '-out', `${own}.csr`];
      await command(['openssl', 'x509', '-x509toreq', ...asked]);
      const signed = ['-in', `${own}.csr`, '-CA', certificate, '-CAkey', key, '-CAcreateserial'];
      return command(['openssl', 'x509', '-req', ...signed, '-days', '-1']);
    };

    test('names a certificate that has expired', async () => {
      const { ask, failures } = await gateway('ours', { ...issued, certificate: await expired() });
      expect(await ask('a-preview.preview.test')).toBe('untrusted');
      expect(failures).toMatchObject([
        { problem: "The gateway's certificate has expired (CERT_HAS_EXPIRED): renew it." },
      ]);
    });

    test('names a gateway that speaks no TLS and one that resets, and forgets what no longer holds', async () => {
      let onConnection = (_socket: Socket): void => undefined;
      const server = createServer().on('connection', (socket) => onConnection(socket));
      servers.push(server.listen(0, '127.0.0.1'));
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const failures: string[] = [];
      const probe = createGatewayProbe({
        host: 'localhost',
        port,
        tls: {},
        failed: ({ problem }) => failures.push(problem),
      });
      const ask = () => probe.ask('127.0.0.1', 'a-preview.preview.test', soon());
      expect(await ask()).toBe('untrusted');
      onConnection = (socket) => socket.resetAndDestroy();
      expect([await ask(), await ask()]).toEqual(['unreachable', 'unreachable']);
      expect(failures).toEqual([
        expect.stringMatching(/^The TLS handshake with the gateway fails \(\w+\): PORTHOLE_GATEWAY_PROBE /),
        expect.stringMatching(/^The gateway does not answer \(ECONNRESET\): .*PORTHOLE_GATEWAY_PROBE/),
      ]);
      expect(probe.problems()).toEqual(failures.slice(1));
      const gone = await probe.ask('127.0.0.9', 'a-preview.preview.test', soon());
      expect([gone, probe.problems().length]).toEqual(['unreachable', 2]);
      await probe.proxies();
      expect(probe.problems()).toEqual(failures.slice(1, 2));
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
    const probe = createGatewayProbe({ host: 'no-such-host.invalid', port: 1 });
    expect(await probe.proxies()).toEqual([]);
    expect(probe.problems()).toEqual([
      expect.stringMatching(/^The name in PORTHOLE_GATEWAY_PROBE has no address \(\w+\): /),
    ]);
  });
});
