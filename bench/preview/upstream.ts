/** The server behind every arm: small JSON, a large body both ways, a WebSocket echo. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { BODY_BYTES } from './body.ts';

const JSON_BODY = JSON.stringify({ ok: true, items: [1, 2, 3], name: 'a small JSON document' });
const BLOCK = Buffer.alloc(64 * 1024, 0x61);

const server = createServer((req, res) => {
  if (req.url === '/upload') {
    req.on('end', () => res.end('{}')).resume();
    return;
  }
  if (req.url !== '/body') {
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': JSON_BODY.length });
    res.end(JSON_BODY);
    return;
  }
  res.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': BODY_BYTES });
  let left = BODY_BYTES;
  const more = (): void => {
    while (left > 0) {
      left -= BLOCK.length;
      if (!res.write(BLOCK)) return;
    }
    res.end();
  };
  res.on('drain', more);
  more();
});
new WebSocketServer({ server }).on('connection', (socket) => {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});
server.listen(Number(process.argv[2] ?? 0), process.argv[3] ?? '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});
