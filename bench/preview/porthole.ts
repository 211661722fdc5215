/** The gateway in front of a server on loopback: the cost of the proxy alone. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { serveGateway } from './gateway.ts';

const port = Number(process.argv[2]);
await serveGateway(port, async () => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
});
