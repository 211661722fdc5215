import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Response to `/N`: N bytes of a command's output, streamed directly. */
const server = createServer((request, response) => {
  const child = spawn('head', ['-c', (request.url ?? '').slice(1), '/dev/zero'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  child.stdout.pipe(response);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
