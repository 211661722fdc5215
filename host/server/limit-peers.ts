import type { Server, Socket } from 'node:net';

export interface PeerLimits {
  /** Connections of one address at a time. */
  readonly mostOpen: number;
  readonly mostASecond: number;
  /** Connections of all addresses together. */
  readonly mostInAll: number;
}

export const CALLS: PeerLimits = { mostOpen: 16, mostASecond: 50, mostInAll: 2_048 };

const SECOND_MS = 1_000;

/**
 * Disconnects addresses that connect too often, because many sandboxes share the server.
 * @param clock in milliseconds
 */
export function limitPeers(
  server: Server,
  { mostOpen, mostASecond, mostInAll }: PeerLimits = CALLS,
  clock: () => number = () => performance.now(),
): void {
  server.maxConnections = mostInAll;
  const peers = new Map<string, { open: number; began: number; count: number }>();
  const forgetIdle = (now: number): void => {
    for (const [address, { open, began }] of peers) {
      if (open === 0 && now - began > SECOND_MS) peers.delete(address);
    }
  };
  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const now = clock();
    if (peers.size >= mostInAll) forgetIdle(now);
    const peer = peers.get(address) ?? { open: 0, began: now, count: 0 };
    peers.set(address, peer);
    if (now - peer.began > SECOND_MS) Object.assign(peer, { began: now, count: 0 });
    peer.open += 1;
    peer.count += 1;
    socket.once('close', () => (peer.open -= 1));
    if (peer.open > mostOpen || peer.count > mostASecond) socket.destroy();
  });
}
