/**
 * Outgoing connections of a sandbox without a route: connections on loopback are passed to the
 * host's broker unchanged.
 */
import { createServer, connect, type Socket } from 'node:net';
import { connectionPreamble, NETWORK } from './protocol/network.ts';

/** Open connections of all programs together; the broker has a limit as well. */
const MOST_OPEN = 512;

const AWAY = 'Porthole cannot be reached: its host is not running. Try again.\n';
const NO_HOST = `HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: ${AWAY.length}\r\nConnection: close\r\n\r\n${AWAY}`;

/**
 * Does not parse the traffic: the broker does, outside of the sandbox. If the port is taken by a
 * program, the guest works without the proxy.
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
