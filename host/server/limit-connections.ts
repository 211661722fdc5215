import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '#handlers/services.ts';

export interface ConnectionLimits {
  /** Of all addresses together. */
  readonly mostInAll: number;
  readonly mostOfAddress: number;
}

/** Milliseconds between two lines of the log. */
const LOG_EVERY_MS = 10_000;

/** Connections without a request under way, the longest idle one first. */
class Idle {
  /** Connections without an accepted request: their sender is unknown. */
  readonly unknown = new Set<Connection>();
  readonly served = new Set<Connection>();

  add(connection: Connection): void {
    (connection.isServed ? this.served : this.unknown).add(connection);
  }

  delete(connection: Connection): void {
    this.unknown.delete(connection);
    this.served.delete(connection);
  }

  first(): Connection | undefined {
    const [unknown] = this.unknown;
    const [served] = this.served;
    return unknown ?? served;
  }
}

interface Connection {
  readonly key: string;
  readonly socket: Socket;
  readonly peer: Peer;
  requests: number;
  isServed: boolean;
}

interface Peer {
  readonly address: string;
  readonly idle: Idle;
  open: number;
}

/**
 * Keeps the connections of a server below its limits. At a limit a new connection replaces the one
 * that is idle longest: first of those that were never served, then of the others. Without an idle
 * one it is refused. So connections of strangers neither take the descriptors that work needs, nor
 * keep anyone out.
 */
export function limitConnections(
  server: Server,
  { mostInAll, mostOfAddress }: ConnectionLimits,
  log: Pick<Logger, 'warn'>,
): void {
  const idle = new Idle();
  const peers = new Map<string, Peer>();
  const connections = new Map<string, Connection>();
  let closed = 0;
  let loggedAt = -Infinity;

  /** @param address where the new connection comes from */
  const close = (socket: Socket, address: string, limit: number): void => {
    socket.destroy();
    closed += 1;
    const now = performance.now();
    if (now - loggedAt < LOG_EVERY_MS) return;
    loggedAt = now;
    log.warn(
      { closed, open: connections.size, limit, address },
      'too many connections: those that are idle longest are closed',
    );
    closed = 0;
  };
  const isOpen = (connection: Connection): boolean => connections.get(connection.key) === connection;
  const rest = (connection: Connection): void => {
    idle.add(connection);
    connection.peer.idle.add(connection);
  };
  const wake = (connection: Connection): void => {
    idle.delete(connection);
    connection.peer.idle.delete(connection);
  };
  const remove = (connection: Connection): void => {
    if (!isOpen(connection)) return;
    connections.delete(connection.key);
    wake(connection);
    const { peer } = connection;
    peer.open -= 1;
    if (peer.open === 0) peers.delete(peer.address);
  };

  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const peer = peers.get(address) ?? { address, idle: new Idle(), open: 0 };
    const crowd =
      peer.open >= mostOfAddress
        ? { idle: peer.idle, limit: mostOfAddress }
        : connections.size >= mostInAll
          ? { idle, limit: mostInAll }
          : undefined;
    if (crowd !== undefined) {
      const oldest = crowd.idle.first();
      if (oldest === undefined) return queueMicrotask(() => close(socket, address, crowd.limit));
      remove(oldest);
      close(oldest.socket, address, crowd.limit);
    }
    peers.set(address, peer);
    peer.open += 1;
    const connection = { key: keyOf(socket), socket, peer, requests: 0, isServed: false };
    connections.set(connection.key, connection);
    rest(connection);
    socket.once('close', () => remove(connection));
  });

  const begin = (socket: Socket): Connection | undefined => {
    const connection = connections.get(keyOf(socket));
    if (connection === undefined) return undefined;
    connection.requests += 1;
    wake(connection);
    return connection;
  };
  const request = (req: IncomingMessage, res: ServerResponse): void => {
    const connection = begin(req.socket);
    if (connection === undefined) return;
    res.once('close', () => {
      connection.requests -= 1;
      if (res.statusCode < 400) connection.isServed = true;
      if (connection.requests === 0 && isOpen(connection)) rest(connection);
    });
  };
  server.prependListener('request', request);
  server.prependListener('checkContinue', request);
  // An upgraded connection is busy until it closes.
  server.prependListener('upgrade', ({ socket }: IncomingMessage) => void begin(socket));
}

/** The same for a connection and for the TLS on it, which are two sockets. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
