import type { Server, Socket } from 'node:net';

/** Connections of one address at a time, and within a second; and of all addresses together. */
const MOST_OPEN = 16;
const MOST_A_SECOND = 50;
const MOST_IN_ALL = 2_048;

const SECOND_MS = 1_000;

/**
 * Disconnects addresses that connect too often, because many sandboxes share the channel.
 * @param clock in milliseconds
 */
export function limitPeers(server: Server, clock: () => number = () => performance.now()): void {
  server.maxConnections = MOST_IN_ALL;
  const peers = new Map<string, { open: number; began: number; count: number }>();
  const forgetIdle = (now: number): void => {
    for (const [address, { open, began }] of peers) {
      if (open === 0 && now - began > SECOND_MS) peers.delete(address);
    }
  };
  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const now = clock();
    if (peers.size >= MOST_IN_ALL) forgetIdle(now);
    const peer = peers.get(address) ?? { open: 0, began: now, count: 0 };
    peers.set(address, peer);
    if (now - peer.began > SECOND_MS) Object.assign(peer, { began: now, count: 0 });
    peer.open += 1;
    peer.count += 1;
    socket.once('close', () => (peer.open -= 1));
    if (peer.open > MOST_OPEN || peer.count > MOST_A_SECOND) socket.destroy();
  });
}
