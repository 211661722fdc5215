/** The minimum cost of a Node server. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((_request, response) => response.end('{}'));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`API http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
