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
import { issueCertificate, makeAuthority } from '#test/cluster/fixture/certificate-authority.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from '#test/host/support/commands.ts';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';

/** The beginning of every value: what no sandbox may ever hold. */
export const CANARY = `canary${randomBytes(8).toString('hex')}`;
export const PLACEHOLDER = /^porthole-secret-[0-9a-f]{32}$/;
const COUNT = 100;

interface Seen {
  readonly host: string | undefined;
  readonly url: string | undefined;
  readonly method: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An entry of the log of a sandbox's network. */
export interface Attempt {
  readonly host: string;
  readonly decision: string;
  readonly rule: string;
}

async function listen(server: NetServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A cluster's broker, which is another process. */
export interface StartedBroker {
  readonly logged: readonly string[];
  end(): Promise<void>;
}

/** Starts it with these variables, beside those that it shares with the host. */
export type StartBroker = (environment: Readonly<Record<string, string>>) => Promise<StartedBroker>;

/** What the tests of one host share. Its functions work once the host has started. */
export interface SecretsHarness {
  /** Requests that have arrived at the hosts, in clear. */
  readonly seen: readonly Seen[];
  readonly hosts: () => Server;
  readonly porthole: () => TestHost;
  readonly value: (name: string) => string;
  readonly secret: (name: string, fields?: object) => object;
  /** Creates a sandbox that may reach the hosts; returns its id. */
  readonly create: (secrets: readonly object[]) => Promise<string>;
  readonly patch: (id: string, body: object) => ReturnType<TestHost['call']>;
  readonly run: (id: string, ...argv: [string, ...string[]]) => Promise<Ran>;
  readonly sh: (id: string, script: string) => Promise<Ran>;
  /** Decision and rule of each attempt. */
  readonly logged: (id: string) => Promise<string[]>;
}

interface Ran {
  readonly out: string;
  readonly err: string;
  readonly code: number | undefined;
}

/**
 * Secrets that never enter a sandbox, through the API: a real sandbox with Node, and an HTTPS
 * server of this test in place of the hosts, behind a proxy in place of the internet.
 */
export function networkSecretsContract(
  settings: () => Record<string, string>,
  startBroker?: StartBroker,
): SecretsHarness {
  let porthole: TestHost;
  let broker: StartedBroker | undefined;
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
    const NODE_EXTRA_CA_CERTS = join(folder, 'ca.crt');
    process.env['NODE_EXTRA_CA_CERTS'] = NODE_EXTRA_CA_CERTS;
    const proxies = { https_proxy: proxy, http_proxy: proxy };
    broker = await startBroker?.({ ...proxies, NODE_EXTRA_CA_CERTS });
    porthole = await startTestHost({ ...PEOPLE, ...settings(), ...proxies });
  }, 120_000);
  afterAll(async () => {
    if (before === undefined) delete process.env['NODE_EXTRA_CA_CERTS'];
    else process.env['NODE_EXTRA_CA_CERTS'] = before;
    await porthole.end();
    await broker?.end();
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

  test('arrive with Node in headers, the query and Basic credentials', async () => {
    const id = await create([
      secret('KEY'),
      secret('QUERY', { inject: 'query', value: `${value('QUERY')}&more` }),
      secret('PASSWORD', { inject: 'basic' }),
    ]);
    const script = `
      const { KEY, QUERY, PASSWORD } = process.env;
      console.log([KEY, QUERY, PASSWORD].join('\\n'));
      fetch('https://api.example.test/?k=' + QUERY, {
        headers: { 'x-key': KEY, authorization: 'Basic ' + btoa('user:' + PASSWORD) },
      }).then((response) => response.text()).then(console.log);`;
    const { out } = await run(id, 'node', '-e', script);
    const [key, query, password, ...answer] = out.trim().split('\n');
    expect([key, query, password]).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(PLACEHOLDER)),
    );
    expect(answer).toEqual(['from afar']);
    expect(seen).toMatchObject([
      {
        url: `/?k=${value('QUERY')}%26more`,
        headers: {
          'x-key': value('KEY'),
          authorization: `Basic ${Buffer.from(`user:${value('PASSWORD')}`).toString('base64')}`,
        },
      },
    ]);
    // Another process adds it to the log later.
    const entry = 'allowed allow *.example.test, secret QUERY, KEY, PASSWORD';
    while (!(await logged(id)).includes(entry)) await new Promise((resolve) => setTimeout(resolve, 100));
  }, 120_000);

  test('stay placeholders for another host', async () => {
    const id = await create([secret('KEY')]);
    // A pod does not trust the authority of this test, as the broker does.
    const script = `process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      fetch('https://other.example.test/', { headers: { x: process.env.KEY } });`;
    await run(id, 'node', '-e', script);
    expect(seen.map(({ headers }) => headers['x'])).toEqual([expect.stringMatching(PLACEHOLDER)]);
  }, 60_000);

  test('survive a stop, with the authority', async () => {
    const id = await create([secret('KEY')]);
    const { out: bundle } = await sh(id, 'tail -20 $SSL_CERT_FILE');
    await porthole.call('POST', `/v1/sandbox/${id}/stop`, { token: ALICE });
    await run(id, 'node', '-e', "fetch('https://api.example.test/', { headers: { x: process.env.KEY } })");
    expect(seen.map(({ headers }) => headers['x'])).toEqual([value('KEY')]);
    expect((await sh(id, 'tail -20 $SSL_CERT_FILE')).out).toBe(bundle);
  }, 60_000);

  test('arrive, all 100 of them, with 0 bytes of them in the sandbox, its logs, events and archive', async () => {
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
      log: [...porthole.logged, ...(broker?.logged ?? [])].join('\n').includes(CANARY),
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
    const step = 16 * 1024 * 1024;
    // Pieces overlap, so that no value is cut.
    const piece = Buffer.alloc(step + 64);
    for (const pid of pids.filter((each) => spaces.has(space(each)))) {
      result.processes += 1;
      const look = (bytes: Buffer): void => {
        if (bytes.includes(placeholder)) result.control += 1;
        if (bytes.includes(CANARY)) result.found += 1;
      };
      look(attempt(() => readFileSync(`/proc/${pid}/environ`), Buffer.alloc(0)));
      const regions = attempt(() => readFileSync(`/proc/${pid}/smaps`, 'latin1'), '');
      const memory = openSync(`/proc/${pid}/mem`, 'r');
      for (const region of regions.split(/^(?=[0-9a-f]+-)/m)) {
        // Not what is never written to: programs, and memory that was reserved and not used.
        if (/^\S+ (?:-|r-\S+ \S+ \S+ \S+ +\/)/.test(region)) continue;
        if (/^Rss: +0 kB$/m.test(region) && /^Swap: +0 kB$/m.test(region)) continue;
        const [start = 0, end = 0] = region.slice(0, region.indexOf(' ')).split('-').map(fromHex);
        for (let at = start; at < end; at += step) {
          const length = Math.min(end - at, piece.length);
          const count = attempt(() => readSync(memory, piece, 0, length, at), 0);
          look(piece.subarray(0, count));
        }
      }
      closeSync(memory);
    }
    return result;
  }

  const fromHex = (digits: string) => Number.parseInt(digits, 16);

  function grep(path: string, text: string): boolean {
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text));
  }

  return {
    seen,
    hosts: () => hosts,
    porthole: () => porthole,
    value,
    secret,
    create,
    patch,
    run,
    sh,
    logged,
  };
}
