/**
 * Connects to ports of a sandbox and hands the sockets to the host. It runs in the sandbox's network namespace and outside of its
 * pid namespace: nothing in the sandbox can reach it, so its channel to the host can be trusted. It never reads from a socket.
 */
import { connect } from 'node:net';

interface Dial {
  readonly id: number;
  readonly port: number;
}

function dial({ id, port }: Dial, hosts = ['127.0.0.1', '::1']): void {
  const [host, ...others] = hosts;
  const socket = connect({ port, host: host as string, noDelay: true });
  // Bytes read here would be lost to the host.
  socket.pause();
  const refused = (error: NodeJS.ErrnoException): void => {
    socket.destroy();
    if (others.length > 0) dial({ id, port }, others);
    else process.send?.({ id, error: error.code ?? 'EIO' });
  };
  socket.once('error', refused);
  socket.once('connect', () => {
    socket.off('error', refused);
    socket.on('error', () => {});
    process.send?.({ id }, socket, { keepOpen: false }, () => socket.destroy());
  });
}

process.on('message', (message) => dial(message as Dial));
process.on('disconnect', () => process.exit(0));
process.send?.({ ready: true });
