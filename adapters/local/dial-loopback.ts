import { connect, type Socket } from 'node:net';

/**
 * Connects to a port of this machine, on 127.0.0.1 and then on ::1: where sandboxes have no network of their own.
 * Undefined when both refuse.
 */
export async function dialLoopback(port: number, signal?: AbortSignal): Promise<Socket | undefined> {
  for (const host of ['127.0.0.1', '::1']) {
    const socket = await connectTo(host, port, signal);
    if (socket !== undefined) return socket;
  }
  return undefined;
}

function connectTo(host: string, port: number, signal: AbortSignal | undefined): Promise<Socket | undefined> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const abort = (): void => {
      socket.destroy();
      reject(signal?.reason as Error);
    };
    const settle = (result: Socket | undefined): void => {
      signal?.removeEventListener('abort', abort);
      socket.removeAllListeners();
      resolve(result);
    };
    signal?.addEventListener('abort', abort);
    socket.once('connect', () => settle(socket));
    socket.once('error', () => settle(undefined));
  });
}
