/**
 * Outgoing connections of a sandbox without a route: connections on loopback are passed to the
 * broker unchanged.
 */
import { createServer, type Socket } from 'node:net';
import { unlessAborted } from '../base/concurrency.ts';
import { connectDirect } from '../proxy/direct-socket.ts';
import { splice } from '../proxy/splice.ts';
import type { HostSockets } from './host-sockets.ts';
import { type BrokerAccess, connectionPreamble, NETWORK } from '../protocol/guest/network.ts';

/** Open connections of all programs together; the broker has a limit as well. */
const MAX_OPEN = 512;

const AWAY = 'Porthole cannot be reached: its host is not running. Try again.\n';
const NO_HOST = `HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: ${AWAY.length}\r\nConnection: close\r\n\r\n${AWAY}`;

/** The broker's socket on this machine, or its address in a cluster. */
export type Broker = { readonly path: string } | BrokerAccess;

/**
 * Does not parse the traffic: the broker does, outside of the sandbox. If the port is taken by a
 * program, the guest works without the proxy.
 * @param find resolves with undefined where no broker is known in time
 * @param sockets gets the connections to the broker
 */
export function startNetworkProxy(find: () => Promise<Broker | undefined>, sockets?: HostSockets): void {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (program) => {
    program.on('error', () => {});
    void find().then((broker) =>
      broker === undefined ? program.end(NO_HOST) : carry(program, broker, sockets),
    );
  });
  server.maxConnections = MAX_OPEN;
  server.on('error', (error) => process.stderr.write(`porthole-guest: no network: ${error.message}\n`));
  server.listen(NETWORK.port, '127.0.0.1');
}

function carry(program: Socket, to: Broker, sockets: HostSockets | undefined): void {
  if (program.destroyed) return;
  const broker = connectDirect({
    ...('path' in to ? { path: to.path } : { host: to.host, port: to.port }),
    allowHalfOpen: true,
    noDelay: true,
  });
  sockets?.trackConnection(broker);
  const away = (): void => void program.resume().end(NO_HOST);
  broker.once('error', away).once('connect', () => {
    broker.off('error', away).on('error', () => {});
    splice(program, broker, () => {});
  });
  program.once('close', () => broker.destroy());
  const proof = 'token' in to ? `${to.token}\n` : '';
  broker.write(proof + connectionPreamble(program.remotePort ?? 0), 'latin1');
}

/** How long connections wait for a broker after the guest's start, in milliseconds. */
const KNOWN_WITHIN_MS = 30_000;

/** The broker that the functions have named. */
export class NamedBroker {
  #access: BrokerAccess | undefined;
  #named = Promise.withResolvers<BrokerAccess>();

  name(access: BrokerAccess): void {
    this.#access = access;
    this.#named.resolve(access);
  }

  async find(): Promise<BrokerAccess | undefined> {
    if (this.#access !== undefined) return this.#access;
    const late = AbortSignal.timeout(KNOWN_WITHIN_MS);
    return unlessAborted(this.#named.promise, late).catch(() => undefined);
  }
}
