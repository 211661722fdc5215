import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';

/** A proxy to a plain HTTP server that counts all bytes sent by it. */
export interface ByteCounter {
  readonly access: ClusterAccess;
  bytes(): number;
  close(): Promise<void>;
}

export async function startByteCounter(access: ClusterAccess): Promise<ByteCounter> {
  const { hostname, port } = new URL(access.server);
  let bytes = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.pipe(far).pipe(near);
    far.on('data', (chunk: Buffer) => (bytes += chunk.length));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  return {
    access: { ...access, server: `http://127.0.0.1:${own}` },
    bytes: () => bytes,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
