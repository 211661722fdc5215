import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What `/N` asks for: N bytes that a command prints, as they come, with nothing around them. */
const server = createServer((request, response) => {
  const child = spawn('head', ['-c', (request.url ?? '').slice(1), '/dev/zero'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  child.stdout.pipe(response);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
