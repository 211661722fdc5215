/** Runs in a sandbox: streams, takes uploads, accepts every WebSocket, and echoes its requests. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const PAGE = '<!doctype html><title>witness</title><link rel="icon" href="data:,"><h1>The witness</h1>';
const BLOCK = Buffer.alloc(64 * 1024, 'x');
const seen = [];

function remember({ method, url, headers }, upgrade) {
  if (url !== '/seen') seen.push({ method, url, headers, upgrade });
}

const server = createServer((req, res) => void answer(req, res));

async function answer(req, res) {
  remember(req, false);
  const { pathname, searchParams } = new URL(req.url, 'http://localhost');
  if (pathname === '/seen') res.end(JSON.stringify(seen));
  else if (pathname === '/cookies') {
    res.setHeader('set-cookie', ['wide=1; Domain=localhost; Path=/', 'own=1; Path=/; HttpOnly']);
    res.setHeader('referrer-policy', 'unsafe-url');
    res.setHeader('content-type', 'text/html').end(PAGE);
  } else if (pathname === '/events') {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    // The next one only once the browser has asked for it: nothing on the way may hold events back.
    sendNext = () => res.write(`data: ${++events}\n\n`);
    sendNext();
  } else if (pathname === '/next-event') {
    sendNext();
    res.end();
  } else if (pathname === '/download') {
    const bytes = Number(searchParams.get('bytes'));
    res.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes });
    for (let sent = 0; sent < bytes; sent += BLOCK.length) {
      if (!res.write(BLOCK.subarray(0, bytes - sent))) await new Promise((go) => res.once('drain', go));
    }
    res.end();
  } else if (pathname === '/upload') {
    let bytes = 0;
    for await (const chunk of req) bytes += chunk.length;
    res.end(String(bytes));
  } else res.setHeader('content-type', 'text/html').end(PAGE);
}

let events = 0;
let sendNext = () => undefined;

server.on('upgrade', (req, socket) => {
  remember(req, true);
  const accept = createHash('sha1')
    .update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  socket.on('error', () => undefined);
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  // One text frame: "welcome".
  socket.write(Buffer.from([0x81, 7, ...Buffer.from('welcome')]));
});

server.listen(Number(process.argv[2]), '127.0.0.1');
