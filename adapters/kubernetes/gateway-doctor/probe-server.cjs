// Runs in the probe's pod by `node --eval`, on Node 18 or later: shows what a gateway makes of
// requests and answers.
'use strict';
const { createHash } = require('node:crypto');
const { createServer } = require('node:http');

const [, id, port, enoughBytes] = process.argv;
/** RFC 6455, section 1.3. */
const WEBSOCKET_ID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Answers once enough has arrived, and reads on: a reset could overtake the answer. */
function count(request, response) {
  let received = 0;
  const answer = () => response.writableEnded || response.end(JSON.stringify({ received }));
  request.on('data', (chunk) => {
    received += chunk.length;
    if (received >= Number(enoughBytes)) answer();
  });
  request.on('end', answer);
}

/** One event at once, and another one after a silence. */
function stream(response, silentMs) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.write('data: first\n\n');
  const timer = setTimeout(() => response.end('data: last\n\n'), silentMs);
  response.once('close', () => clearTimeout(timer));
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://probe');
  response.setHeader('x-porthole-probe', id);
  if (pathname === '/body') return count(request, response);
  if (pathname === '/events') return stream(response, Number(searchParams.get('silent')));
  // The route replaces the one and removes the other.
  response.setHeader('referrer-policy', 'unsafe-url');
  response.setHeader('clear-site-data', '"cache"');
  response.end(JSON.stringify(request.headers));
});

/** Answers the first bytes of a WebSocket with a frame of text. */
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1')
    .update(request.headers['sec-websocket-key'] + WEBSOCKET_ID)
    .digest('base64');
  socket.on('error', () => socket.destroy());
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  socket.once('data', () => socket.write(Buffer.from([0x81, 2, ...Buffer.from('ok')])));
});

// The first process of a container has no default action for signals.
process.once('SIGTERM', () => process.exit(0));
server.listen(Number(port));
