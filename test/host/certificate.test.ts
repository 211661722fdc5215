import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request, type RequestOptions } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import {
  authorityFiles,
  issueCertificate,
  makeAuthority,
} from '#test/cluster/fixture/certificate-authority.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

const NAME = 'porthole.example.test';
const ENVIRONMENT = {
  PORTHOLE_PUBLIC_URL: `https://${NAME}`,
  Sandbox__Preview__ZoneSuffix: 'previews.example.test',
};

/** Answers the scheme that the gateway reports, and accepts WebSockets. */
const ECHO = `
  const { createHash } = require('node:crypto');
  const accept = (key) => createHash('sha1').update(key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  require('node:http')
    .createServer((req, res) => res.end(req.headers['x-forwarded-proto']))
    .on('upgrade', ({ headers }, socket) =>
      socket.write(['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade',
        'Sec-WebSocket-Accept: ' + accept(headers['sec-websocket-key']), '', ''].join('\\r\\n')))
    .listen(3000);`;
const KEY = Buffer.alloc(16, 'k').toString('base64');

let folder: string;
let ca: Buffer;
let porthole: TestHost;
/** As a certificate manager keeps them: `live` links to the newest folder. */
const live = (file: string) => join(folder, 'live', file);

async function issue(version: string, dnsNames: readonly string[] = [NAME, '*.previews.example.test']) {
  const issued = await issueCertificate(folder, version, { commonName: version, use: 'server', dnsNames });
  await mkdir(join(folder, `v-${version}`));
  await writeFile(join(folder, `v-${version}`, 'cert.pem'), issued.certificate);
  await writeFile(join(folder, `v-${version}`, 'key.pem'), issued.key);
}

/** Moves the link in one step. */
async function publish(version: string) {
  await symlink(`v-${version}`, join(folder, 'next'));
  await rename(join(folder, 'next'), join(folder, 'live'));
}

/** The common name of the certificate that a new connection gets. */
async function served(): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: porthole.host.port, servername: NAME, ca });
  await once(socket, 'secureConnect');
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return String(name);
}

const begin = (options: RequestOptions) =>
  request({ host: '127.0.0.1', port: porthole.host.port, servername: NAME, ca, agent: false, ...options });

async function send(options: RequestOptions, body = ''): Promise<[IncomingMessage]> {
  const outgoing = begin(options);
  outgoing.end(body);
  return (await once(outgoing, 'response')) as [IncomingMessage];
}

async function untilLogged(part: string): Promise<void> {
  const from = porthole.logged.length;
  while (!porthole.logged.slice(from).some((line) => line.includes(part))) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'porthole-tls-'));
  await makeAuthority(folder);
  ca = await readFile(authorityFiles(folder).certificate);
  await issue('first');
  await publish('first');
  porthole = await startTestHost({
    ...ENVIRONMENT,
    PORTHOLE_TLS_CERT: live('cert.pem'),
    PORTHOLE_TLS_KEY: live('key.pem'),
  });
});
afterAll(async () => {
  await porthole?.end();
  await rm(folder, { recursive: true, force: true });
});

test('serves the API over TLS, and says so in its URL', async () => {
  expect(porthole.host.url).toBe(`https://127.0.0.1:${porthole.host.port}`);
  expect(await served()).toBe('first');
});

test('serves a renewed certificate to new connections, and loses none', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca, servername: NAME });
  const ask = async () => {
    const [response] = await send({ agent, path: '/health' });
    const socket = response.socket as TLSSocket;
    await text(response);
    return { status: response.statusCode, socket };
  };
  const before = await ask();
  await issue('second');
  const reloaded = untilLogged('certificate reloaded');
  await publish('second');
  await reloaded;
  expect(await served()).toBe('second');
  const after = await ask();
  expect(after.status).toBe(200);
  expect(after.socket).toBe(before.socket);
  expect(after.socket.getPeerCertificate().subject.CN).toBe('first');
  agent.destroy();
});

test('keeps the last pair when the new one is broken, and logs the fault', async () => {
  await issue('third');
  await writeFile(join(folder, 'v-third', 'key.pem'), await readFile(join(folder, 'first.key')));
  const refused = untilLogged('certificate not reloaded');
  await publish('third');
  await refused;
  const logged = porthole.logged.findLast((line) => line.includes('certificate not reloaded'));
  expect(logged).toContain(`${live('key.pem')} is not the key of the certificate in ${live('cert.pem')}`);
  expect(await served()).toBe('second');
});

test('logs a name that the certificate does not cover', async () => {
  await issue('fourth', [NAME]);
  const reloaded = untilLogged('certificate reloaded');
  await publish('fourth');
  await reloaded;
  expect(porthole.logged.join('')).toContain('it is not for any-preview.previews.example.test');
});

test('closes a connection that speaks plain HTTP', async () => {
  const plain = connectPlain(porthole.host.port, '127.0.0.1');
  plain.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await text(plain)).toBe('');
});

test('shows a preview over TLS, its WebSocket included', async () => {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const call = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const [response] = await send({ method: 'POST', path, headers }, JSON.stringify(body));
    return JSON.parse(await text(response)) as Record<string, string>;
  };
  const { run_id: run, sandbox_id: sandbox } = await call('/api/runs', {});
  const argv = ['node', '-e', ECHO];
  await call(`/v1/sandbox/${sandbox}/processes`, { argv });
  await call(`/v1/sandbox/${sandbox}/ports/3000/wait`, { timeout_ms: 30_000 });
  const { preview_url: url = '' } = await call(`/api/runs/${run}/sandbox/port-forward`, {
    target_port: 3000,
  });
  expect(url).toMatch(/^https:\/\/[\w-]+-preview\.previews\.example\.test$/);
  const { host } = new URL(url);
  const [page] = await send({ path: '/', headers: { host } });
  expect(await text(page)).toBe('https');
  const upgrade = { host, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const outgoing = begin({ path: '/', headers: { ...upgrade, 'sec-websocket-key': KEY, origin: url } });
  outgoing.end();
  const [{ statusCode }, socket] = (await once(outgoing, 'upgrade')) as [IncomingMessage, Socket];
  expect(statusCode).toBe(101);
  socket.destroy();
});

test.each([
  ['a missing file', 'none.pem', 'first.key', /PORTHOLE_TLS_CERT: .*none\.pem cannot be read \(ENOENT\)/],
  ['a key in place of the certificate', 'first.key', 'first.key', /PORTHOLE_TLS_CERT: .* not a certificate/],
  ['a certificate in place of the key', 'first.crt', 'first.crt', /PORTHOLE_TLS_KEY: .* not a private key/],
  ['files that are no pair', 'first.crt', 'second.key', /is not the key of the certificate/],
])('does not start with %s, and says why', async (_, cert, key, problem) => {
  const started = startHostProcess({
    dataDir: join(folder, 'data'),
    environment: {
      ...ENVIRONMENT,
      PORTHOLE_TLS_CERT: join(folder, cert),
      PORTHOLE_TLS_KEY: join(folder, key),
    },
  });
  await expect(started).rejects.toThrow(problem);
});
