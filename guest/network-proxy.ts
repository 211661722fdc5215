/**
 * The way out of a sandbox that has no route: connections on loopback go to the host's broker as
 * they are.
 */
import { createServer, connect, type Socket } from 'node:net';
import { connectionPreamble, NETWORK } from './protocol/network.ts';

/** Of all programs together; the broker has a bound as well. */
const MOST_OPEN = 512;

const AWAY = 'Porthole cannot be reached: its host is not running. Try again.\n';
const NO_HOST = `HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: ${AWAY.length}\r\nConnection: close\r\n\r\n${AWAY}`;

/**
 * Understands nothing of what passes: the broker parses it, outside of the sandbox. Without the
 * port, e.g. because a program has it, the guest works all the same.
 */
export function startNetworkProxy(socketPath: string): void {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (program) =>
    carry(program, socketPath),
  );
  server.maxConnections = MOST_OPEN;
  server.on('error', (error) => process.stderr.write(`porthole-guest: no network: ${error.message}\n`));
  server.listen(NETWORK.port, '127.0.0.1');
}

function carry(program: Socket, socketPath: string): void {
  const broker = connect({ path: socketPath, allowHalfOpen: true });
  let isConnected = false;
  broker.once('connect', () => {
    isConnected = true;
  });
  broker.on('error', () => {
    if (isConnected) program.destroy();
    else program.end(NO_HOST);
  });
  program.on('error', () => broker.destroy());
  broker.once('close', () => {
    if (isConnected && !broker.readableEnded) program.destroy();
  });
  program.once('close', () => broker.destroy());
  broker.write(connectionPreamble(program.remotePort ?? 0), 'latin1');
  program.pipe(broker).pipe(program);
}
