/**
 * What sandboxes reach through the broker: real sandboxes, with servers on loopback instead of the
 * internet.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { readMachineTools } from '#adapters/egress/machine-tools.ts';
import { NetworkBroker } from '#adapters/egress/network-broker.ts';
import { NO_PROXIES } from '#adapters/egress/machine-proxies.ts';
import { createAuthority } from '#adapters/egress/sandbox-authority.ts';
import { createLocalProvider, type LocalProvider } from '#adapters/local/local-provider.ts';
import type { NetworkAttempt } from '#core/network/network.ts';
import { type NetworkPolicy, NO_NETWORK } from '#core/network/network-policy.ts';
import { commandEnvironment, NO_SECRETS, type SandboxSecrets } from '#core/network/network-secrets.ts';
import { packageRules } from '#core/network/network-presets.ts';
import {
  authorityFiles,
  issueCertificate,
  makeAuthority,
} from '#test/cluster/fixture/certificate-authority.ts';
import { recordTracing } from '#test/doubles/recorded-tracing.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { answerRegistry } from '#test/support/npm-registry.ts';
import { suite } from '#test/support/suite.ts';
import { attemptScript, bypassAttempts } from './bypass-attempts.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

/** Address of servers that sandboxes may reach; the rest of loopback represents the machine. */
const OUTSIDE = '127.0.0.2';

/** No code in a sandbox may ever read this. */
const CANARY = 'CANARY-7f3a';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'api.example.com': [OUTSIDE],
  'registry.example.com': [OUTSIDE],
  'loop.example.com': ['127.0.0.1'],
  'both.example.com': ['127.0.0.1', '::1'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'meta.example.com': ['169.254.169.254'],
  'ten.example.com': ['10.0.0.1'],
  'link.example.com': ['fe80::1'],
  'zero.example.com': ['0.0.0.0'],
};

async function listen(server: NetServer, host: string): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

for (const isolation of ['bubblewrap', 'unshare'] as const) {
  suite(`a sandbox’s network, ${isolation}`, missingFor(isolation), () => {
    const id = sandboxId();
    const attempts: NetworkAttempt[] = [];
    let policy: NetworkPolicy = NO_NETWORK;
    let secrets: SandboxSecrets = NO_SECRETS;
    let asked: string[] = [];
    let answer: (signal: AbortSignal) => Promise<string | undefined>;
    let folder: string;
    let provider: LocalProvider & TestProvider;
    let broker: NetworkBroker;
    let outside: Server;
    let machine: Server;
    let secure: ReturnType<typeof createHttpsServer>;
    let securePort: number;
    let port: number;
    let machinePort: number;
    let rebound = 0;

    const set = (mode: NetworkPolicy['mode'], ...hosts: string[]): void => {
      policy = {
        ...NO_NETWORK,
        mode,
        allow: hosts.map((host) => ({ host, ports: [port, machinePort, securePort] })),
      };
    };
    const run = async (...argv: [string, ...string[]]) => {
      const process = await provider.exec(id, { argv, env: commandEnvironment({ env: {}, secrets }) });
      const [out, err, exit] = await Promise.all([
        text(process.stdout),
        text(process.stderr),
        process.exited,
      ]);
      return { out, err, code: exit.code };
    };
    const sh = (script: string) => run('sh', '-c', script);
    const curl = (...given: string[]) => run('curl', '-sS', '-m', '20', ...given);
    /** Waits for an attempt with that rule: a program may end before its connection does here. */
    const logged = async (rule: string): Promise<NetworkAttempt> => {
      while (true) {
        const found = attempts.find((each) => each.rule.includes(rule));
        if (found !== undefined) return found;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'porthole-network-'));
      outside = createServer((request, response) => serve(request, response, () => [port, machinePort]));
      machine = createServer((_request, response) => response.end(CANARY));
      port = await listen(outside, OUTSIDE);
      machinePort = await listen(machine, '127.0.0.1');
      await makeAuthority(folder);
      const { certificate: cert, key } = await issueCertificate(folder, 'api', {
        commonName: 'api',
        use: 'server',
        dnsNames: ['api.example.com'],
      });
      secure = createHttpsServer({ cert, key }, ({ headers }, response) =>
        response.end(String(headers['x-key'] === 'value-0123')),
      );
      securePort = await listen(secure, OUTSIDE);
      const tools = readMachineTools({
        npm_config_userconfig: '/none',
        npm_config_globalconfig: '/none',
        npm_config_registry: `http://user:secret@registry.example.com:${port}/`,
      });
      expect(JSON.stringify(tools)).not.toContain('secret');
      provider = withGuests(createLocalProvider({ dataDir: folder, isolation, tools }));
      broker = new NetworkBroker({
        presets: packageRules(tools.registries),
        permitted: [`${OUTSIDE}/32`],
        proxies: NO_PROXIES,
        async resolve(name) {
          if (name === 'rebind.example.com') return [(rebound += 1) % 2 === 1 ? OUTSIDE : '127.0.0.1'];
          const found = NAMES[name];
          if (found === undefined) throw Object.assign(new Error(name), { code: 'ENOTFOUND' });
          return found;
        },
        policyOf: () => Promise.resolve(policy),
        secretsOf: () => Promise.resolve(secrets),
        certificates: readFileSync(authorityFiles(folder).certificate, 'utf8'),
        ask(question, signal) {
          asked.push(`${question.host}:${question.port}`);
          return answer(signal);
        },
        attempted: (_id, attempt) => void attempts.push(attempt),
        hint: () => 'Ask the owner.',
      });
      await provider.serveChannels({
        calls: () => createServer(),
        network: (of) => broker.serverFor(of),
        authority: () => Promise.resolve(secrets.authority?.certificate),
      });
      await provider.create({ id });
    }, 60_000);
    afterAll(async () => {
      await provider.destroy(id);
      await provider.close();
      broker.close();
      for (const server of [outside, machine, secure]) server.close().closeAllConnections();
      rmSync(folder, { recursive: true });
    });
    beforeEach(() => {
      attempts.length = 0;
      asked = [];
      answer = () => Promise.resolve('denied by the owner');
      secrets = NO_SECRETS;
      set('off');
    });

    test('is reached by curl with HTTP, CONNECT and SOCKS5, and by Node’s fetch', async () => {
      set('allowlist', 'api.example.com');
      const url = `http://api.example.com:${port}/hello`;
      expect((await curl(url)).out).toBe('hello');
      expect((await curl('-p', url)).out).toBe('hello');
      expect((await curl('--proxy', 'socks5h://127.0.0.1:2792', url)).out).toBe('hello');
      const script = `fetch(${JSON.stringify(url)}).then((r) => r.text()).then(console.log)`;
      expect((await run('node', '-e', script)).out).toBe('hello\n');
      expect((await curl('-d', 'x'.repeat(70_000), `${url}/length`)).out).toBe('70000');
    });

    test('is refused at once by name, with how to allow it', async () => {
      const began = performance.now();
      const off = await curl('http://blocked.example.com/');
      expect(off.out).toBe('blocked.example.com:80 is blocked (network: off). Ask the owner.\n');
      set('allowlist');
      policy = { ...policy, ask: false };
      const tunnel = await curl('https://blocked.example.com/');
      expect([tunnel.code, tunnel.err]).toEqual([56, expect.stringContaining('403')]);
      // Without the proxy no name resolves, and nothing waits for a name server.
      const bare = await run('env', '-i', 'getent', 'hosts', 'blocked.example.com');
      expect(bare.code).toBe(2);
      expect(performance.now() - began).toBeLessThan(5_000);
      expect(attempts.map(({ decision, rule }) => `${decision} ${rule}`)).toEqual([
        'blocked network: off',
        'blocked not on the list',
      ]);
    });

    test('is not widened by any of the ways around it', async () => {
      for (const mode of ['off', 'packages', 'allowlist', 'open'] as const) {
        set(mode, ...(mode === 'open' ? [] : ['api.example.com', 'rebind.example.com']));
        policy = { ...policy, ask: false };
        const table = bypassAttempts({ port, machinePort });
        const { out, err } = await run('node', '-e', attemptScript, JSON.stringify(table));
        const results = JSON.parse(out || `"${err}"`) as Record<string, string>;
        expect(Object.keys(results)).toHaveLength(table.length);
        const passed = Object.entries(results).filter(([, said]) => said.includes(CANARY));
        expect({ mode, passed }).toEqual({ mode, passed: [] });
        expect(table.length).toBeGreaterThanOrEqual(200);
      }
      expect(await logged('rebind.example.com is a reserved address')).toMatchObject({
        refusal: 'reserved address',
      });
    }, 60_000);

    test('puts the value of a secret into a request over TLS that curl trusts', async () => {
      set('allowlist', 'api.example.com');
      const placeholder = 'porthole-secret-0123456789abcdef0123456789abcdef';
      const secret = { name: 'KEY', host: 'api.example.com', port: securePort, inject: 'header' } as const;
      secrets = {
        list: [{ ...secret, value: 'value-0123', placeholder }],
        authority: await createAuthority(),
      };
      await provider.writeCertificates(id);
      const { out, err } = await sh(
        `echo $KEY; curl -sS -m 20 -H "X-Key: $KEY" https://api.example.com:${securePort}/`,
      );
      expect({ out, err }).toEqual({ out: `${placeholder}\ntrue`, err: '' });
      await logged(', secret KEY');
    }, 30_000);

    // The broker does the rest, whatever the isolation.
    if (isolation === 'unshare') return;

    test('has a span of each decision, without the host', async () => {
      const { spans, end } = recordTracing();
      try {
        await curl(`http://api.example.com:${port}/hello`);
        set('allowlist', 'api.example.com');
        await curl(`http://api.example.com:${port}/hello`);
      } finally {
        end();
      }
      const decision = (made: string, failed: boolean) => ({
        name: 'egress.decision',
        attributes: { 'porthole.sandbox.id': id, 'porthole.egress.decision': made },
        failed,
      });
      const decisions = spans.filter(({ name }) => name === 'egress.decision');
      expect(decisions).toEqual([decision('deny', true), decision('allow', false)]);
    });

    test('installs a package from the registry that the machine is configured for', async () => {
      set('packages');
      const { code, out, err } = await sh(
        'mkdir -p app && cd app && npm install --no-audit --no-fund tiny && cat node_modules/tiny/index.js',
      );
      expect({ code, out, err }).toMatchObject({ code: 0, out: expect.stringContaining('tiny is here') });
      expect(attempts).toContainEqual(
        expect.objectContaining({
          host: 'registry.example.com',
          decision: 'allowed',
          rule: 'preset npm (this machine)',
        }),
      );
    }, 30_000);

    test('waits for the owner, and goes on once it is approved', async () => {
      set('packages');
      const approve = Promise.withResolvers<string | undefined>();
      answer = () => approve.promise;
      const asking = curl(`http://api.example.com:${port}/hello`);
      while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
      approve.resolve(undefined);
      expect((await asking).out).toBe('hello');
      answer = () => Promise.resolve('denied by the owner');
      expect((await curl(`http://api.example.com:${port}/hello`)).out).toContain('denied by the owner');
      expect(asked).toEqual([`api.example.com:${port}`, `api.example.com:${port}`]);
    });

    test('ends open connections when the policy no longer allows them', async () => {
      set('allowlist', 'api.example.com');
      const arrived = once(outside, 'held');
      const held = curl('-p', `http://api.example.com:${port}/hold`);
      await arrived;
      set('allowlist', 'api.example.com', 'registry.example.com');
      await broker.policyChanged(id);
      set('packages');
      await broker.policyChanged(id);
      expect((await held).code).not.toBe(0);
      expect(attempts).toMatchObject([{ host: 'api.example.com', decision: 'allowed' }]);
    });

    test.each([
      [
        'chunks',
        'Transfer-Encoding: chunked',
        (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      ],
      [
        'a length that Connection names',
        'Connection: content-length\r\nContent-Length: SIZE',
        (body: string) => body,
      ],
    ])(
      'sends the body of a GET with %s as a body, not as a second request',
      async (_what, header, framed) => {
        set('allowlist', 'api.example.com');
        const body = 'GET / HTTP/1.1\r\nHost: secret.example.com\r\n\r\n';
        const head = `GET http://api.example.com:${port}/hello/length HTTP/1.1\r\nHost: api.example.com`;
        const sent = `${head}\r\n${header.replace('SIZE', String(body.length))}\r\n\r\n${framed(body)}`;
        const seen: (string | undefined)[] = [];
        const note = ({ headers }: IncomingMessage) => void seen.push(headers.host);
        outside.on('request', note);
        const script = `
        const socket = require('net').connect(2792, '127.0.0.1', () => socket.write(${JSON.stringify(sent)}));
        let answer = '';
        socket.on('data', (bytes) => {
          answer += bytes;
          if (/\\r\\n\\r\\n\\d/.test(answer)) socket.destroy();
        }).on('close', () => process.stdout.write(answer));`;
        const { out } = await run('node', '-e', script);
        outside.off('request', note);
        expect(out.split('\r\n').at(-1)).toBe(String(body.length));
        expect(seen).toContain(`api.example.com:${port}`);
        expect(seen).not.toContain('secret.example.com');
      },
    );

    test('does not take another name in TLS than the one that was asked for', async () => {
      set('allowlist', 'api.example.com');
      const script = `
        const net = require('net'), tls = require('tls');
        const socket = net.connect(2792, '127.0.0.1');
        socket.write('CONNECT api.example.com:${port} HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n');
        socket.once('data', (head) => {
          process.stdout.write(String(head).split('\\r\\n')[0] + '\\n');
          const secure = tls.connect({ socket, servername: 'other.example.net', rejectUnauthorized: false });
          secure.on('error', () => console.log('ended'));
        });`;
      expect((await run('node', '-e', script)).out).toBe('HTTP/1.1 200 Connection established\nended\n');
      expect(attempts.at(-1)).toMatchObject({
        decision: 'blocked',
        rule: 'TLS for other.example.net',
        refusal: 'other host',
        bytesOut: 0,
      });
    });

    test('denies a name in TLS to an address, also with network: open', async () => {
      set('open');
      const address = ['--connect-to', `::${OUTSIDE}:`, `https://api.example.com:${securePort}/`];
      const toAddress = () => curl('-k', ...address);
      expect((await toAddress()).out).toBe('false');
      policy = { ...policy, deny: [{ host: '*.example.net' }] };
      expect((await toAddress()).out).toBe('false');
      policy = { ...policy, deny: [{ host: 'api.example.com' }] };
      expect((await toAddress()).code).not.toBe(0);
      expect(await logged('TLS for api.example.com')).toMatchObject({ host: OUTSIDE, decision: 'blocked' });
    });

    test('forwards no other method in a header of a request that reads', async () => {
      policy = {
        ...NO_NETWORK,
        mode: 'allowlist',
        allow: [{ host: 'api.example.com', ports: [port], methods: ['GET', 'POST'] }],
      };
      const seen: unknown[] = [];
      const note = ({ method, headers }: IncomingMessage): void =>
        void seen.push([method, headers['x-http-method-override']]);
      outside.on('request', note);
      const override = 'X-HTTP-Method-Override: DELETE';
      for (const method of ['GET', 'POST'])
        await curl('-X', method, '-H', override, `http://api.example.com:${port}/hello`);
      outside.off('request', note);
      expect(seen).toEqual([
        ['GET', undefined],
        ['POST', 'DELETE'],
      ]);
    });

    test('streams without holding anything back, and carries 200 connections at once', async () => {
      set('allowlist', 'api.example.com');
      const url = `http://api.example.com:${port}`;
      expect((await sh(`curl -sS -p -m 20 ${url}/large | wc -c`)).out.trim()).toBe(String(32 * 1024 * 1024));
      const script = `
        const all = Array.from({ length: 200 }, () => fetch('${url}/hello').then((r) => r.text()));
        Promise.all(all).then((texts) => console.log(new Set(texts).size, texts.length));`;
      expect((await run('node', '-e', script)).out).toBe('1 200\n');
    }, 30_000);
  });
}

/** An API and an npm registry with one package. */
function serve(request: IncomingMessage, response: ServerResponse, ports: () => number[]): void {
  const [port, machinePort] = ports();
  const { url = '', headers } = request;
  if (headers.host?.startsWith('secret.example.com') === true) return void response.end(CANARY);
  if (url.startsWith('/redirect')) {
    response.writeHead(302, { location: `http://127.0.0.1:${machinePort}/` }).end();
  } else if (url === '/hold') {
    response.writeHead(200);
    response.write('held');
    (request.socket as unknown as { server: Server }).server.emit('held');
  } else if (url === '/large') {
    const piece = Buffer.alloc(64 * 1024);
    let left = 512;
    const more = (): void => {
      while (left > 0) if (((left -= 1), !response.write(piece))) return void response.once('drain', more);
      response.end();
    };
    more();
  } else if (url === '/hello/length') {
    let length = 0;
    request
      .on('data', (chunk: Buffer) => (length += chunk.length))
      .on('end', () => response.end(String(length)));
  } else if (!answerRegistry(request, response, `http://registry.example.com:${port}`)) {
    response.end('hello');
  }
}
