import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { openPreviewsAnswer } from '#protocol/guest/previews-protocol.ts';
import { fetchRaw, freePort, openRaw, sendRaw } from '#test/proxy/gateway-fixture.ts';
import { GuestProcess } from '../support/guest-process.ts';

const HOST = 'calm-preview.preview.test';
const ORIGIN = `https://${HOST}`;
const VITE = join(import.meta.dirname, '../../../node_modules/vite/bin/vite.js');

/**
 * A WSGI app on an HTTP/1.0 server that puts its host into a redirect, as Flask and FastAPI do, and
 * counts an upload.
 */
const WSGI = `
import sys
from wsgiref.simple_server import make_server
from wsgiref.util import application_uri
def app(environ, start):
    if environ['PATH_INFO'] == '/old':
        start('302 Found', [('Location', application_uri(environ) + 'login?next=/')])
        return []
    size = len(environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0)))
    start('200 OK', [('Content-Type', 'text/plain'), ('Set-Cookie', 'a=b; Domain=localhost')])
    return [f"{environ['HTTP_HOST']} {environ.get('HTTP_ORIGIN')} {size}".encode()]
make_server('127.0.0.1', int(sys.argv[1]), app).serve_forever()
`;

describe('behind the guest', () => {
  let guest: GuestProcess;
  let folder: string;
  let port: number;
  let appPort: number;
  let app: ChildProcess | undefined;

  beforeAll(async () => {
    port = await freePort();
    folder = mkdtempSync(join(tmpdir(), 'guest-apps-'));
    guest = await GuestProcess.start({ previews: { port } });
    await guest.client.health();
  });
  afterAll(async () => {
    await guest.stop();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    if (app?.kill('SIGKILL') === true) await once(app, 'exit');
    app = undefined;
  });

  /** `isAsked`: probes the app, and resolves once it listens. */
  const start = async (argv: (port: number) => readonly string[], isAsked = true): Promise<void> => {
    appPort = await freePort();
    const [program = '', ...args] = argv(appPort);
    app = spawn(program, args, { cwd: folder, stdio: 'ignore' });
    await once(app, 'spawn');
    const body = {
      host: HOST,
      run: 'run_1',
      expires_at: new Date(Date.now() + 600_000).toISOString(),
      frame_ancestors: [],
    };
    await guest.client.json('PUT', `/v1/previews/${appPort}`, openPreviewsAnswer, { body });
    while (isAsked && (await get('/')).headers['x-porthole-status'] === 'nothing_listens') await pause(100);
  };
  const routed = () => ({ 'X-Porthole-Port': String(appPort) });
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetchRaw(port, HOST, path, { ...routed(), ...headers });

  test('serves the page of Vite without --host and reloads it', async () => {
    writeFileSync(join(folder, 'index.html'), '<script type="module" src="/main.js"></script>');
    writeFileSync(join(folder, 'main.js'), 'console.log(1)');
    await start((at) => [process.execPath, VITE, '--port', String(at), '--strictPort']);
    expect((await get('/')).body).toContain('/@vite/client');
    const { body: client } = await get('/@vite/client');
    const token = /wsToken = "([^"]+)"/.exec(client)?.[1] ?? '';
    const socket = new WebSocket(`ws://127.0.0.1:${port}/?token=${token}`, 'vite-hmr', {
      headers: { Host: HOST, Origin: ORIGIN, ...routed() },
    });
    const messages: string[] = [];
    const reported = new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer) => {
        messages.push((JSON.parse(data.toString()) as { type: string }).type);
        if (messages.includes('full-reload')) resolve();
      });
    });
    await once(socket, 'open');
    await get('/main.js');
    writeFileSync(join(folder, 'main.js'), 'console.log(2)');
    await reported;
    expect(messages[0]).toBe('connected');
    expect((await get('/main.js')).body).toContain('console.log(2)');
    socket.terminate();
  });

  test('points absolute redirects of an HTTP/1.0 server back to it, and lets it accept its forms', async () => {
    await start((at) => ['python3', '-c', WSGI, String(at)]);
    expect((await get('/old')).headers['location']).toBe(`${ORIGIN}/login?next=/`);
    const head = `POST / HTTP/1.1\r\nHost: ${HOST}\r\nX-Porthole-Port: ${appPort}\r\nOrigin: ${ORIGIN}\r\nConnection: close\r\n`;
    const size = 24 * 1024 * 1024;
    const answer = await sendRaw(port, `${head}Content-Length: ${size}\r\n\r\n`, Buffer.alloc(size));
    expect(answer).toContain(`localhost:${appPort} http://localhost:${appPort} ${size}`);
    expect(answer).toContain('Set-Cookie: a=b\r\n');
  });

  test('sends events to the visitor as they come, and notifies the server when the visitor leaves', async () => {
    const script = `require('node:http').createServer((_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      let n = 0;
      const timer = setInterval(() => res.write('data: ' + (n += 1) + '\\n\\n'), 20);
      res.on('close', () => { clearInterval(timer); process.exit(0); });
    }).listen(process.argv[1], '::1')`;
    // The first visitor that disconnects ends it, so it is not probed.
    await start((at) => [process.execPath, '-e', script, String(at)], false);
    const exited = once(app as ChildProcess, 'exit');
    let visitor = await openRaw(port);
    for (;;) {
      visitor.send(`GET /live HTTP/1.1\r\nHost: ${HOST}\r\nX-Porthole-Port: ${appPort}\r\n\r\n`);
      const first = await visitor.until('\r\n\r\n');
      if (!first.includes('nothing_listens')) break;
      visitor.socket.destroy();
      await pause(50);
      visitor = await openRaw(port);
    }
    await visitor.until('data: 3');
    visitor.socket.destroy();
    expect((await exited)[0]).toBe(0);
    app = undefined;
  });
});
