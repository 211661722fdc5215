import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocketServer } from 'ws';
import { appProbe } from '#adapters/previews/http-app-probe.ts';
import { guessFramework } from '#core/diagnosis/framework.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * A server that answers the first data of each connection with these bytes and then calls `then`.
 */
function saying(bytes: string | Buffer, then: (socket: Socket) => void = () => {}): Promise<number> {
  return listening(
    createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.write(bytes, () => then(socket)));
    }),
  );
}

async function dialled(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

async function get(port: number) {
  const socket = await dialled(port);
  const finding = await appProbe.get(socket, port);
  expect(socket.destroyed).toBe(true);
  return finding;
}

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

describe('the doctor’s TLS hello', () => {
  /** A self-signed certificate and its key. */
  const pem = (): { cert: string; key: string } => {
    const folder = mkdtempSync(join(tmpdir(), 'porthole-tls-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    execFileSync('openssl', [...args, '-subj', '/CN=localhost', '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    });
    const read = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    rmSync(folder, { recursive: true });
    return read;
  };

  test('finds a TLS server that hangs up on plain HTTP', async () => {
    const port = await listening(createHttpsServer(pem(), (_, res) => res.end('secret')));
    expect(await get(port)).toEqual({ kind: 'hung_up' });
    const socket = await dialled(port);
    expect(await appProbe.speaksTls(socket)).toBe(true);
    expect(socket.destroyed).toBe(true);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['hangs up', (socket) => socket.end()],
    ['answers in another protocol', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')],
    ['resets the connection', (socket) => socket.resetAndDestroy()],
    ['says nothing', () => {}],
  ])('finds no TLS in a server that %s', async (_name, then) => {
    const port = await saying('', then);
    expect(await appProbe.speaksTls(await dialled(port))).toBe(false);
  });
});

describe('the doctor’s plain request', () => {
  test('asks as a browser does through a preview, and reads status, headers and body', async () => {
    let asked = {};
    const port = await listening(
      createHttpServer((req, res) => {
        asked = {
          line: `${req.method} ${req.url}`,
          host: req.headers.host,
          encoding: req.headers['accept-encoding'],
        };
        res.writeHead(404, { server: 'Mine/1', 'x-powered-by': 'Tests' });
        res.end('<title>Not here</title>');
      }),
    );
    const finding = await get(port);
    expect(asked).toEqual({ line: 'GET /', host: `localhost:${port}`, encoding: 'identity' });
    expect(finding).toMatchObject({ kind: 'answered', status: 404, body: '<title>Not here</title>' });
    if (finding.kind !== 'answered') throw new Error('no answer');
    expect(finding.headers.get('server')).toBe('Mine/1');
  });

  test('reads 64 KiB of a body without end, and hangs up', async () => {
    let sent = 0;
    const port = await saying('HTTP/1.1 200 OK\r\n\r\n', (socket) => {
      const more = (): void => {
        if (socket.destroyed) return;
        sent += 16_384;
        socket.write(Buffer.alloc(16_384, 'x'), more);
      };
      more();
    });
    expect(await get(port)).toMatchObject({ kind: 'answered', status: 200, body: 'x'.repeat(65_536) });
    expect(sent).toBeLessThan(64 * 1_048_576);
  });

  test('takes the beginning of a body that stalls', async () => {
    const port = await saying('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    expect(await get(port)).toMatchObject({ kind: 'answered', status: 200, body: 'half' });
  }, 20_000);

  test('does not wait for ever for a server that says nothing', async () => {
    const port = await saying('');
    expect(await get(port)).toEqual({ kind: 'silent' });
  }, 20_000);

  test.each<[string, string | Buffer, object]>([
    ['nothing', '', { kind: 'hung_up' }],
    ['a TLS alert', Buffer.from([0x15, 3, 1, 0, 2, 2, 70]), { kind: 'tls' }],
    [
      'a greeting',
      'SSH-2.0-OpenSSH_9.2\r\n',
      { kind: 'malformed', what: 'its answer does not start with an HTTP/1.1 or HTTP/1.0 status line' },
    ],
    [
      'half a head',
      'HTTP/1.1 200 OK\r\nServer: x',
      { kind: 'malformed', what: 'it closed the connection before it had answered' },
    ],
    [
      'a head without end',
      `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(20_000)}`,
      { kind: 'malformed', what: 'its response head is larger than 64 KiB' },
    ],
    [
      'two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      { kind: 'malformed', what: 'its response gives its length more than once' },
    ],
    [
      'an upgrade without a request for it',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      { kind: 'malformed', what: 'it switched protocols without being asked' },
    ],
    [
      'a body that is cut off',
      'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf',
      { kind: 'answered', status: 200, body: 'half' },
    ],
  ])('tells a server that says %s and hangs up', async (_name, bytes, finding) => {
    const port = await saying(bytes, (socket) => socket.end());
    expect(await get(port)).toMatchObject(finding);
  });

  test('ends when its caller goes away', async () => {
    const socket = await dialled(await saying(''));
    const gone = new AbortController();
    const asking = appProbe.get(socket, 1, gone.signal);
    gone.abort(new Error('gone'));
    await expect(asking).rejects.toThrow('gone');
    expect(socket.destroyed).toBe(true);
  });
});

describe('the doctor’s WebSocket handshake', () => {
  const upgrade = async (port: number, target = { path: '/' }) => {
    const socket = await dialled(port);
    const finding = await appProbe.upgrade(socket, port, target);
    expect(socket.destroyed).toBe(true);
    return finding;
  };

  test('passes where a server takes it, at its path and with its subprotocol', async () => {
    const server = createHttpServer();
    const sockets = new WebSocketServer({
      server,
      path: '/hmr',
      handleProtocols: (names) => names.has('mine') && 'mine',
    });
    const port = await listening(server);
    expect(await upgrade(port, { path: '/hmr', protocol: 'mine' } as { path: string })).toEqual({
      upgrades: true,
      status: 101,
    });
    expect(await upgrade(port)).toEqual({ upgrades: false, status: 400 });
    sockets.close();
  });

  test.each<[string, string, object]>([
    ['a page', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', { upgrades: false, status: 200 }],
    [
      'a 101 with the accept key of another request',
      'HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n',
      { upgrades: false, status: 101 },
    ],
    ['nonsense', 'hello', { upgrades: false }],
  ])('does not pass where a server answers with %s', async (_name, bytes, finding) => {
    expect(await upgrade(await saying(bytes))).toEqual(finding);
  });

  test('does not wait for ever for a server that ignores it', async () => {
    expect(await upgrade(await saying(''))).toEqual({ upgrades: false });
  });
});

test('identifies a real Vite, and its hot reload accepts the handshake', async () => {
  const root = new URL('../../../', import.meta.url).pathname;
  const vite = spawn(
    process.execPath,
    [`${root}node_modules/vite/bin/vite.js`, `${root}examples/vite`, '--host', '127.0.0.1', '--port', '0'],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NO_COLOR: '1' } },
  );
  try {
    let said = '';
    for await (const piece of vite.stdout) {
      said += String(piece);
      if (/127\.0\.0\.1:\d+/.test(said)) break;
    }
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(said)?.[1]);
    const finding = await get(port);
    if (finding.kind !== 'answered') throw new Error(finding.kind);
    const framework = guessFramework({ ...finding, command: '' });
    expect(framework?.name).toBe('Vite');
    expect(await appProbe.upgrade(await dialled(port), port, framework?.hotReload ?? { path: '' })).toEqual({
      upgrades: true,
      status: 101,
    });
  } finally {
    const ended = once(vite, 'exit');
    vite.kill('SIGKILL');
    await ended;
  }
});
