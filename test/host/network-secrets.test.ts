/**
 * Secrets that never enter a sandbox, through the API: a real sandbox, and an HTTPS server of this
 * test in place of the hosts, behind a proxy in place of the internet.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
} from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer, type Server } from 'node:https';
import { type AddressInfo, connect, type Server as NetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { WebSocketServer } from 'ws';
import { missingFor } from '#test/adapters/local/machine.ts';
import { issueCertificate, makeAuthority } from '#test/cluster/fixture/certificate-authority.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { execute } from './support/commands.ts';
import { ALICE, PEOPLE } from './support/people.ts';

/** The beginning of every value: what no sandbox may ever hold. */
const CANARY = `canary${randomBytes(8).toString('hex')}`;
const PLACEHOLDER = /^porthole-secret-[0-9a-f]{32}$/;
const COUNT = 100;

interface Seen {
  readonly host: string | undefined;
  readonly url: string | undefined;
  readonly method: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Attempt {
  readonly host: string;
  readonly decision: string;
  readonly rule: string;
}

async function listen(server: NetServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

suite('secrets that never enter a sandbox', missingFor('bubblewrap'), () => {
  let porthole: TestHost;
  let folder: string;
  let internet: NetServer;
  let hosts: Server;
  let untrusted: NetServer;
  const seen: Seen[] = [];
  const ports: Record<string, number> = {};
  const before = process.env['NODE_EXTRA_CA_CERTS'];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-secrets-'));
    await makeAuthority(folder);
    const dnsNames = ['*.example.test', '*.many.example.test'];
    const certificate = await issueCertificate(folder, 'hosts', {
      commonName: 'hosts',
      use: 'server',
      dnsNames,
    });
    hosts = createHttpsServer(
      { cert: certificate.certificate, key: certificate.key },
      (request, response) => {
        let body = '';
        request.on('data', (chunk: Buffer) => (body += chunk.toString()));
        request.on('end', () => {
          const { method, url, headers } = request;
          seen.push({ host: headers.host, url, method, headers, body });
          if (url?.startsWith('/redirect') === true) {
            response.writeHead(302, { location: url.replace('/redirect', '/after') }).end();
          } else if (url === '/stream') {
            response.write('first\n');
            response.on('close', () => hosts.emit('stream ended'));
          } else response.end('from afar\n');
        });
      },
    );
    const sockets = new WebSocketServer({ server: hosts });
    sockets.on('connection', (socket, { method, url, headers }) => {
      seen.push({ host: headers.host, url, method, headers, body: '' });
      socket.on('message', (data: Buffer) => socket.send(`echo ${data.toString()}`));
    });
    ports['hosts'] = await listen(hosts);

    const other = mkdtempSync(join(folder, 'other-'));
    await makeAuthority(other);
    const bad = await issueCertificate(other, 'bad', { commonName: 'bad', use: 'server', dnsNames });
    untrusted = createTlsServer({ cert: bad.certificate, key: bad.key }, (socket) => socket.end());
    ports['bad.example.test'] = await listen(untrusted);

    internet = createServer((request, response) => {
      seen.push({
        host: request.headers.host,
        url: request.url,
        method: 'PLAIN',
        headers: {},
        body: '',
      });
      response.end('in clear\n');
    });
    internet.on('connect', (request: IncomingMessage, client: import('node:net').Socket) => {
      const [name = ''] = (request.url ?? '').split(':');
      const server = connect(ports[name] ?? (ports['hosts'] as number), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        client.pipe(server).pipe(client);
      });
      server.on('error', () => client.destroy()).on('close', () => client.destroy());
      client.on('error', () => server.destroy()).on('close', () => server.destroy());
    });
    const proxy = `http://127.0.0.1:${await listen(internet)}`;
    process.env['NODE_EXTRA_CA_CERTS'] = join(folder, 'ca.crt');
    porthole = await startTestHost({ ...PEOPLE, https_proxy: proxy, http_proxy: proxy });
  }, 120_000);
  afterAll(async () => {
    if (before === undefined) delete process.env['NODE_EXTRA_CA_CERTS'];
    else process.env['NODE_EXTRA_CA_CERTS'] = before;
    await porthole.end();
    hosts.close().closeAllConnections();
    untrusted.close();
    internet.close();
    rmSync(folder, { recursive: true });
  }, 60_000);
  beforeEach(() => void (seen.length = 0));

  const value = (name: string) => `${CANARY}-${name}`;
  const secret = (name: string, fields: object = {}) => ({
    name,
    host: 'api.example.test',
    inject: 'header',
    value: value(name),
    ...fields,
  });
  const allowed = { network: 'allowlist', allow: ['*.example.test', '*.many.example.test'], ask: false };
  const create = async (secrets: readonly object[]) => {
    const made = await porthole.call('POST', '/v1/sandbox', { token: ALICE, body: { ...allowed, secrets } });
    expect([made.status, made.text]).toEqual([200, expect.any(String)]);
    return made.json<{ id: string }>().id;
  };
  const patch = (id: string, body: object) =>
    porthole.call('PATCH', `/v1/sandbox/${id}`, { token: ALICE, body });
  const run = async (id: string, ...argv: [string, ...string[]]) => {
    const { stdout, stderr, exitCode } = await execute(porthole, id, argv, { token: ALICE });
    return { out: stdout.toString(), err: stderr.toString(), code: exitCode };
  };
  const sh = (id: string, script: string) => run(id, 'sh', '-c', script);
  const attempts = async (id: string) =>
    (await porthole.call('GET', `/v1/sandbox/${id}/network`, { token: ALICE })).json<{
      attempts: Attempt[];
    }>().attempts;
  const logged = async (id: string) =>
    (await attempts(id)).map(({ decision, rule }) => `${decision} ${rule}`);

  test('are never returned, and are refused outside the policy', async () => {
    const id = await create([secret('KEY', { methods: ['get'] })]);
    const shown = [{ name: 'KEY', host: 'api.example.test', inject: 'header', methods: ['GET'] }];
    for (const path of [`/v1/sandbox/${id}`, `/v1/sandbox/${id}/network`]) {
      const answer = await porthole.call('GET', path, { token: ALICE });
      expect(answer.json()).toMatchObject({ secrets: shown });
      expect(answer.text).not.toContain(CANARY);
    }
    const outside = await patch(id, { secrets: [secret('KEY', { host: 'api.example.org' })] });
    expect([outside.status, outside.json()]).toEqual([
      400,
      expect.objectContaining({
        error: expect.stringContaining('KEY: api.example.org:443 is outside the policy of the sandbox'),
      }),
    ]);
    for (const bad of [
      [secret('KEY', { value: `${CANARY}\n` })],
      [secret('KEY', { value: { a: CANARY } })],
      { KEY: CANARY },
    ]) {
      const refused = await patch(id, { secrets: bad });
      expect([refused.status, refused.text]).toEqual([400, expect.not.stringContaining(CANARY)]);
    }
    const off = await porthole.call('POST', '/v1/sandbox', {
      token: ALICE,
      body: { network: 'off', secrets: [secret('KEY')] },
    });
    expect(off.status).toBe(400);
  });

  test('arrive with curl, Node and Python in headers, the query and Basic credentials', async () => {
    const id = await create([
      secret('KEY'),
      secret('QUERY', { inject: 'query', value: `${value('QUERY')}&more` }),
      secret('PASSWORD', { inject: 'basic' }),
    ]);
    expect((await sh(id, 'echo $KEY; echo $QUERY; echo $PASSWORD')).out.trim().split('\n')).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(PLACEHOLDER)),
    );
    const url = 'https://api.example.test';
    expect(await sh(id, `curl -sS -m 20 -H "Authorization: Bearer $KEY" "${url}/?k=$QUERY"`)).toEqual({
      out: 'from afar\n',
      err: '',
      code: 0,
    });
    expect((await sh(id, `curl -sS -m 20 -u "user:$PASSWORD" -d body ${url}/`)).out).toBe('from afar\n');
    const node = `fetch('${url}/node', { headers: { 'x-key': process.env.KEY } }).then((r) => r.text()).then(console.log)`;
    expect((await run(id, 'node', '-e', node)).out).toBe('from afar\n\n');
    const python = `import os, urllib.request as u
print(u.urlopen(u.Request('${url}/python', headers={'X-Key': os.environ['KEY']}), timeout=20).read())`;
    expect((await run(id, 'python3', '-c', python)).out).toBe("b'from afar\\n'\n");
    expect(seen).toMatchObject([
      { url: `/?k=${value('QUERY')}%26more`, headers: { authorization: `Bearer ${value('KEY')}` } },
      {
        method: 'POST',
        body: 'body',
        headers: {
          authorization: `Basic ${Buffer.from(`user:${value('PASSWORD')}`).toString('base64')}`,
        },
      },
      { url: '/node', headers: { 'x-key': value('KEY') } },
      { url: '/python', headers: { 'x-key': value('KEY') } },
    ]);
    expect(await logged(id)).toContain('allowed allow *.example.test, secret QUERY, KEY');
  }, 120_000);

  test('stay placeholders for other hosts, methods and places', async () => {
    const id = await create([secret('KEY', { methods: ['GET'] })]);
    await sh(id, 'curl -sS -m 20 -H "X: $KEY" https://other.example.test/other');
    await sh(id, 'curl -sS -m 20 -H "X: $KEY" -X PUT https://api.example.test/put');
    await sh(id, 'curl -sS -m 20 -d "$KEY" -X GET "https://api.example.test/get/$KEY?$KEY"');
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET']);
    expect(JSON.stringify(seen)).not.toContain(CANARY);
    expect(seen[0]?.headers['x']).toMatch(PLACEHOLDER);
  }, 60_000);

  test('follow a change at once, under the same placeholder', async () => {
    const id = await create([]);
    const ask = 'curl -sS -m 20 -H "X: $KEY" https://api.example.test/';
    expect((await patch(id, { secrets: [secret('KEY')] })).json()).toMatchObject({
      secrets: [{ name: 'KEY', host: 'api.example.test', inject: 'header' }],
    });
    expect((await sh(id, ask)).out).toBe('from afar\n');
    const { out: placeholder } = await sh(id, 'echo $KEY');
    await patch(id, { secrets: [secret('KEY', { value: value('rotated') })] });
    expect((await sh(id, `echo $KEY; ${ask}`)).out).toBe(`${placeholder}from afar\n`);
    await patch(id, { secrets: [] });
    await sh(id, `KEY=${placeholder.trim()}; ${ask}`);
    expect(seen.map(({ headers }) => headers['x'])).toEqual([
      value('KEY'),
      value('rotated'),
      placeholder.trim(),
    ]);
  }, 60_000);

  test('are put back into a redirect, which the program follows itself', async () => {
    const id = await create([secret('KEY', { inject: 'query' })]);
    const { out } = await sh(
      id,
      'curl -sS -m 20 -D - -o /dev/null "https://api.example.test/redirect?k=$KEY"',
    );
    expect(out).toMatch(/location: \/after\?k=porthole-secret-[0-9a-f]{32}/i);
    expect(seen.map(({ url }) => url)).toEqual([`/redirect?k=${value('KEY')}`]);
  }, 60_000);

  test('travel in the handshake of a WebSocket', async () => {
    const id = await create([secret('KEY', { inject: 'query' })]);
    const script = `
      const connect = require('http').request({ port: 2792, method: 'CONNECT', path: 'api.example.test:443' });
      connect.once('connect', (_, socket) => {
        const secure = require('tls').connect({ socket, servername: 'api.example.test' });
        const key = Buffer.alloc(16).toString('base64');
        secure.write('GET /socket?' + process.env.KEY + ' HTTP/1.1\\r\\nHost: api.example.test\\r\\nConnection: Upgrade\\r\\n' +
          'Upgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: ' + key + '\\r\\n\\r\\n');
        let answer = '', isSent = false;
        secure.on('data', (bytes) => {
          answer += bytes;
          if (!isSent) secure.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
          isSent = true;
          if (answer.endsWith('echo hi')) { console.log(answer.split(' ')[1], 'echo hi'); secure.destroy(); }
        });
      }).end();`;
    expect(await run(id, 'node', '-e', script)).toEqual({ out: '101 echo hi\n', err: '', code: 0 });
    expect(seen.map(({ url }) => url)).toEqual([`/socket?${value('KEY')}`]);
  }, 60_000);

  test('stream an answer, which ends when the policy no longer allows the host', async () => {
    const id = await create([secret('KEY')]);
    const curl = sh(id, 'curl -sS -N -m 30 -o got https://api.example.test/stream; cat got');
    await sh(id, 'until [ -s got ]; do sleep 0.1; done');
    const ended = once(hosts, 'stream ended');
    await patch(id, { network: 'off' });
    await ended;
    expect((await curl).out).toBe('first\n');
    expect(await logged(id)).toContain('allowed allow *.example.test');
  }, 60_000);

  test('never leave in clear, nor for a program that refuses the certificate', async () => {
    const id = await create([secret('KEY'), secret('BAD', { host: 'bad.example.test' })]);
    const plain = await sh(id, 'curl -sS -m 20 -H "X: $KEY" http://api.example.test/');
    expect(plain.out).toBe(
      'api.example.test:80 is blocked (secret KEY needs https). Use https://api.example.test.\n',
    );
    const tunnelled = await sh(
      id,
      'curl -sS -m 20 -p -H "X: $KEY" --connect-to ::api.example.test:443 http://api.example.test/',
    );
    expect(tunnelled.code).not.toBe(0);
    const pinned = await sh(
      id,
      `curl -sS -m 20 -H "X: $KEY" --pinnedpubkey 'sha256//${'A'.repeat(43)}=' https://api.example.test/`,
    );
    expect(pinned.code).not.toBe(0);
    const refuses = await sh(id, 'curl -sS -m 20 --cacert /dev/null -H "X: $KEY" https://api.example.test/');
    expect(refuses.code).not.toBe(0);
    const untrustedHost = await sh(id, 'curl -sS -m 20 -H "X: $BAD" https://bad.example.test/');
    expect(untrustedHost.code).not.toBe(0);
    expect(seen).toEqual([]);
    const log = await logged(id);
    expect(log).toEqual(
      expect.arrayContaining([
        'blocked secret KEY needs https',
        'blocked no TLS, which secrets of api.example.test need',
        expect.stringMatching(
          /^failed the program refuses the certificate of this sandbox for api\.example\.test \(.+\), which secret KEY needs$/,
        ),
        expect.stringMatching(/^failed the TLS of bad\.example\.test is not valid \(.+\)$/),
      ]),
    );
  }, 120_000);

  test('do not follow a request that is smuggled or names another host', async () => {
    const id = await create([secret('KEY')]);
    const attempt = `
      const [sent, servername, alpn] = JSON.parse(process.argv[1]);
      const connect = require('http').request({ port: 2792, method: 'CONNECT', path: 'api.example.test:443' });
      connect.once('connect', (_, socket) => {
        const secure = require('tls').connect({ socket, servername, ALPNProtocols: alpn, rejectUnauthorized: false });
        let answer = '';
        const end = () => { console.log(answer.split('\\r\\n')[0]); process.exit(); };
        secure.on('secureConnect', () => secure.write(sent.replaceAll('KEY', process.env.KEY)));
        secure.on('data', (bytes) => {
          answer += bytes;
          if (/^HTTP.1.1 200[^]*afar/.test(answer)) end();
        }).on('close', end).on('error', end);
      }).end();`;
    const tries = async (sent: string, servername = 'api.example.test', alpn: string[] = []) =>
      (await run(id, 'node', '-e', attempt, JSON.stringify([sent, servername, alpn]))).out.trim();
    const own = 'Host: api.example.test\r\n';
    const hidden = `GET /hidden HTTP/1.1\r\n${own}X: KEY\r\n\r\n`;
    // The placeholder is longer than its name.
    const length = hidden.length + 'porthole-secret-'.length + 32 - 'KEY'.length;
    const chunk = `${length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
    const refused: [string, string?, string[]?][] = [
      ['GET / HTTP/1.1\r\nHost: other.example.test\r\nX: KEY\r\n\r\n'],
      ['GET / HTTP/1.1\r\nHost: api.example.test:8443\r\nX: KEY\r\n\r\n'],
      [`GET / HTTP/1.1\r\n${own}Host: other.example.test\r\nX: KEY\r\n\r\n`],
      ['GET / HTTP/1.1\r\nX: KEY\r\n\r\n'],
      [`GET https://other.example.test/ HTTP/1.1\r\n${own}X: KEY\r\n\r\n`],
      [`POST / HTTP/1.1\r\n${own}X: KEY\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`],
      [`POST / HTTP/1.1\r\n${own}X: KEY\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n${chunk}`],
      [`POST / HTTP/1.1\r\n${own}X: KEY\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${chunk}`],
      [`GET / HTTP/1.1\r\n${own}X: KEY`, 'other.example.test'],
      [`GET / HTTP/1.1\r\n${own}X: KEY`, ''],
      [`GET / HTTP/1.1\r\n${own}X: KEY`, 'api.example.test', ['h2']],
    ];
    const answers = await Promise.all(refused.map((each) => tries(...each)));
    expect(answers.filter((line) => /^HTTP\/1\.1 [123]/.test(line))).toEqual([]);
    expect(seen).toEqual([]);
    // Bodies that another parser could take for a second request stay bodies.
    await tries(`GET / HTTP/1.1\r\n${own}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
    await tries(
      `GET / HTTP/1.1\r\n${own}Connection: content-length\r\nContent-Length: ${length}\r\n\r\n${hidden}`,
    );
    expect(seen.map(({ url }) => url)).toEqual(['/', '/']);
    expect(JSON.stringify(seen)).not.toContain(CANARY);
  }, 120_000);

  test('survive a stop, with the authority', async () => {
    const id = await create([secret('KEY')]);
    const { out: bundle } = await sh(id, 'tail -20 /run/porthole/certificates.pem');
    await porthole.call('POST', `/v1/sandbox/${id}/stop`, { token: ALICE });
    await sh(id, 'curl -sS -m 20 -H "X: $KEY" https://api.example.test/');
    expect(seen.map(({ headers }) => headers['x'])).toEqual([value('KEY')]);
    expect((await sh(id, 'tail -20 /run/porthole/certificates.pem')).out).toBe(bundle);
  }, 60_000);

  test('100 of them arrive, and 0 bytes of them are in the sandbox, its logs, events and archive', async () => {
    const many = Array.from({ length: COUNT }, (_, index) =>
      secret(`KEY_${index}`, {
        host: `h${index}.many.example.test`,
        inject: index % 2 === 0 ? 'header' : 'query',
      }),
    );
    const id = await create(many);
    const script = `
      const all = Array.from({ length: ${COUNT} }, async (_, index) => {
        const key = process.env['KEY_' + index];
        const response = await fetch('https://h' + index + '.many.example.test/?k=' + key, { headers: { x: key } });
        return response.text();
      });
      Promise.all(all).then((texts) => {
        require('fs').writeFileSync('/workspace/done', Object.entries(process.env).join('\\n') + texts.join(''));
        setInterval(() => {}, 1_000);
      });`;
    const started = await porthole.call('POST', `/v1/sandbox/${id}/processes`, {
      token: ALICE,
      body: { argv: ['node', '-e', script] },
    });
    expect(started.status).toBe(201);
    await sh(id, 'until [ -e done ]; do sleep 0.1; done');
    const arrived = seen.filter(({ host, url, headers }) => {
      const index = Number(/^h(\d+)\./.exec(host ?? '')?.[1]);
      return index % 2 === 0
        ? headers['x'] === value(`KEY_${index}`) && url?.includes(CANARY) === false
        : url === `/?k=${value(`KEY_${index}`)}` && headers['x']?.includes(CANARY) === false;
    });
    expect(new Set(arrived.map(({ host }) => host)).size).toBe(COUNT);
    expect(seen).toHaveLength(COUNT);

    const { list } = (await porthole.host.services.records.sandboxes.get(id))?.secrets ?? { list: [] };
    const placeholder = list[0]?.placeholder ?? 'none';
    const memory = scanMemory(placeholder);
    expect(memory.processes).toBeGreaterThanOrEqual(2);
    expect(memory.control).toBeGreaterThan(0);
    const files = await sh(id, 'tar -c /workspace /tmp /run /home "$HOME" 2>/dev/null | base64 -w 0');
    const inside = Buffer.from(files.out, 'base64');
    expect(inside.includes(placeholder)).toBe(true);
    const archive = await porthole.call('POST', `/v1/sandbox/${id}/persist`, { token: ALICE, body: {} });
    expect([archive.status, archive.text.includes(placeholder)]).toEqual([200, true]);
    // A connection is an event once it ends: fetch keeps an idle one for 4 s.
    const { network, records } = porthole.host.services;
    let events = await records.sandboxEvents.read(id, { after: 0, limit: 1_000 });
    for (let tries = 0; tries < 100 && !JSON.stringify(events).includes('secret KEY_0'); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      await network.settled();
      events = await records.sandboxEvents.read(id, { after: 0, limit: 1_000 });
    }
    expect(JSON.stringify(events)).toContain('secret KEY_0');
    const places: Record<string, boolean> = {
      memory: memory.found > 0,
      files: inside.includes(CANARY),
      archive: archive.text.includes(CANARY),
      events: JSON.stringify(events).includes(CANARY),
      network: JSON.stringify(await attempts(id)).includes(CANARY),
      log: porthole.logged.join('\n').includes(CANARY),
      data: grep(porthole.dataDir, CANARY),
    };
    expect(Object.entries(places).filter(([, isFound]) => isFound)).toEqual([]);
  }, 240_000);

  /** Searches memory and environment of every process in the sandbox with that placeholder. */
  function scanMemory(placeholder: string): { processes: number; control: number; found: number } {
    const spaces = new Set<string>();
    const pids = readdirSync('/proc').filter((each) => /^\d+$/.test(each) && Number(each) !== process.pid);
    const attempt = <T>(work: () => T, otherwise: T): T => {
      try {
        return work();
      } catch {
        // It has ended, or the region cannot be read.
        return otherwise;
      }
    };
    const space = (pid: string) => attempt(() => readlinkSync(`/proc/${pid}/ns/pid`), '');
    for (const pid of pids) {
      if (attempt(() => readFileSync(`/proc/${pid}/environ`), Buffer.alloc(0)).includes(placeholder))
        spaces.add(space(pid));
    }
    const result = { processes: 0, control: 0, found: 0 };
    for (const pid of pids.filter((each) => spaces.has(space(each)))) {
      result.processes += 1;
      const look = (bytes: Buffer): void => {
        if (bytes.includes(placeholder)) result.control += 1;
        if (bytes.includes(CANARY)) result.found += 1;
      };
      look(attempt(() => readFileSync(`/proc/${pid}/environ`), Buffer.alloc(0)));
      const maps = attempt(() => readFileSync(`/proc/${pid}/maps`, 'latin1'), '');
      const memory = openSync(`/proc/${pid}/mem`, 'r');
      for (const [, from = '0', to = '0'] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) r.*$/gm)) {
        const [start, end] = [BigInt(`0x${from}`), BigInt(`0x${to}`)];
        const step = 16n * 1024n * 1024n;
        // Pieces overlap, so that no value is cut.
        for (let at = start; at < end; at += step) {
          const piece = Buffer.alloc(Number(end - at < step + 64n ? end - at : step + 64n));
          const count = attempt(() => readSync(memory, piece, 0, piece.length, at), 0);
          look(piece.subarray(0, count));
        }
      }
      closeSync(memory);
    }
    return result;
  }

  function grep(path: string, text: string): boolean {
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text));
  }
});
