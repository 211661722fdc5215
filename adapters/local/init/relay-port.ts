import { connect, type Socket } from 'node:net';
import { FRAME, frame } from './frames.ts';

/** Joins a connection to a port of ours, on 127.0.0.1 and then on ::1. */
export function relayPort(port: number, connection: Socket, hosts = ['127.0.0.1', '::1']): void {
  const [host, ...others] = hosts;
  const upstream = connect({ port, host: host as string, allowHalfOpen: true });
  const give = (): void => {
    upstream.destroy();
  };
  connection.once('close', give);
  const refused = (error: NodeJS.ErrnoException): void => {
    connection.off('close', give);
    if (others.length > 0) return relayPort(port, connection, others);
    connection.end(frame(FRAME.failed, JSON.stringify({ code: error.code ?? 'EIO' })));
  };
  upstream.once('error', refused);
  upstream.once('connect', () => {
    upstream.off('error', refused);
    upstream.on('error', () => connection.destroy());
    connection.write(frame(FRAME.ok));
    connection.pipe(upstream).pipe(connection);
  });
}
