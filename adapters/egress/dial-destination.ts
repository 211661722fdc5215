import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { type AddressRefusal, addressRefusal } from '#base/address-range.ts';
import { destinationText, type Destination } from '#core/network/network-policy.ts';
import { endpointOf, hostText, type NetworkHost, readHost } from '#core/network/network-host.ts';
import { connectDirect } from '#proxy/direct-socket.ts';
import { type MachineProxies, proxyFor } from './machine-proxies.ts';

/** Connect timeout for each address of a host, in milliseconds. */
const CONNECT_MS = 10_000;

/** DNS timeout where the machine's proxy can resolve the name instead, in milliseconds. */
const PROXY_WAITS_MS = 1_000;

/** Maximum addresses of one name that are tried. */
const MAX_ADDRESSES = 6;

/** A destination that is allowed but cannot be connected to. */
export class DialError extends Error {
  /** Why its address was refused; undefined for a failure of the network. */
  readonly refusal: AddressRefusal | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly refusal?: AddressRefusal }) {
    super(message, options);
    this.refusal = options?.refusal;
  }
}

export interface Dialled {
  readonly socket: Socket;
  /** Set where the socket leads to the machine's proxy, which takes requests in absolute form. */
  readonly proxy?: URL | undefined;
}

export interface DialOptions {
  /** Private ranges of the installation that may be connected to, in CIDR notation. */
  readonly permitted: readonly string[];
  readonly proxies: MachineProxies;
  /** @default the system's */
  readonly resolve?: ((name: string) => Promise<readonly string[]>) | undefined;
}

/**
 * Resolves, checks every address, and connects to a checked address (prevents DNS rebinding).
 * Behind the machine's proxy, the proxy connects, and resolves names that this machine cannot.
 * @throws DialError
 */
export async function dialDestination(
  destination: Destination,
  mayBePrivate: boolean,
  { permitted, proxies, resolve = resolveName }: DialOptions,
  signal: AbortSignal,
): Promise<Dialled> {
  const { host, port, http } = destination;
  const proxy = proxyFor(proxies, hostText(host), port);
  const addresses = await addressesOf(host, resolve, proxy !== undefined);
  signal.throwIfAborted();
  const refusals = addresses.map((address) => addressRefusal(address, permitted, mayBePrivate));
  const usable = addresses.filter((_, index) => refusals[index] === undefined).slice(0, MAX_ADDRESSES);
  const refusal = refusals.find((each) => each !== undefined);
  if (usable.length === 0 && refusal !== undefined) {
    throw new DialError(`${hostText(host)} is a ${refusal}`, { refusal });
  }
  if (proxy !== undefined) {
    // Proxies usually allow tunnels only to port 443.
    if (http !== undefined && proxy.protocol === 'http:') {
      const { host: to, port: at } = endpointOf(proxy);
      return { socket: await connectTo(to, at, signal), proxy };
    }
    return { socket: await connectThrough(proxy, destinationText(destination), signal) };
  }
  let failure: unknown;
  for (const address of usable) {
    try {
      return { socket: await connectTo(address, port, signal) };
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  const { code = 'no answer' } = (failure ?? {}) as NodeJS.ErrnoException;
  throw new DialError(`${destinationText(destination)} cannot be reached (${code})`, {
    cause: failure,
  });
}

async function addressesOf(
  host: NetworkHost,
  resolve: (name: string) => Promise<readonly string[]>,
  hasProxy: boolean,
): Promise<readonly string[]> {
  if (host.kind === 'address') return [host.address];
  try {
    const found = await (hasProxy
      ? Promise.race([resolve(host.name), after(PROXY_WAITS_MS, [])])
      : resolve(host.name));
    return found.flatMap((text) => {
      const address = readHost(text);
      return address?.kind === 'address' ? [address.address] : [];
    });
  } catch (error) {
    if (hasProxy) return [];
    const { code = 'no answer' } = error as NodeJS.ErrnoException;
    throw new DialError(`${host.name} cannot be resolved (${code})`, { cause: error });
  }
}

async function resolveName(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}

function connectTo(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectDirect({ host: address, port, allowHalfOpen: true, noDelay: true });
  return awaitSocketEvent(socket, 'connect', CONNECT_MS, signal);
}

/** The socket, once it has emitted the event. Otherwise it is destroyed. */
export async function awaitSocketEvent<S extends Socket>(
  socket: S,
  event: 'connect' | 'secure' | 'secureConnect',
  withinMs: number,
  signal: AbortSignal,
): Promise<S> {
  // Never removed: without a listener, a late error would end the process.
  socket.on('error', () => {});
  const ended = new AbortController();
  const end = (code: string) => ended.abort(Object.assign(new Error(code), { code }));
  const closed = (): void => end('ECONNRESET');
  const late = setTimeout(end, withinMs, 'ETIMEDOUT');
  socket.once('close', closed).once('end', closed);
  try {
    await once(socket, event, { signal: AbortSignal.any([signal, ended.signal]) });
    signal.throwIfAborted();
    return socket;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw (error as Error).name === 'AbortError' ? ended.signal.reason : error;
  } finally {
    clearTimeout(late);
    socket.off('close', closed).off('end', closed);
  }
}

/** The value of `Proxy-Authorization`; undefined where the proxy's URL has no user. */
export function proxyAuthorization({ username, password }: URL): string | undefined {
  if (username === '') return undefined;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(user).toString('base64')}`;
}

/** RFC 9110 §9.3.6. */
function connectThrough(proxy: URL, authority: string, signal: AbortSignal): Promise<Socket> {
  const request = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  const authorization = proxyAuthorization(proxy);
  return new Promise((resolve, reject) => {
    const failed = (cause: unknown): void => {
      const { code = 'no answer' } = cause as NodeJS.ErrnoException;
      reject(new DialError(`${authority}: the machine's proxy cannot be reached (${code})`, { cause }));
    };
    request({
      ...endpointOf(proxy),
      method: 'CONNECT',
      path: authority,
      agent: false,
      signal,
      timeout: CONNECT_MS,
      headers: {
        host: authority,
        ...(authorization !== undefined && { 'proxy-authorization': authorization }),
      },
    })
      .once('connect', (response, socket: Socket, head) => {
        socket.on('error', () => {});
        if (response.statusCode !== 200) {
          socket.destroy();
          reject(new DialError(`${authority}: the machine's proxy answered ${response.statusCode}`));
          return;
        }
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      })
      .once('response', (response) => {
        response.destroy();
        reject(new DialError(`${authority}: the machine's proxy answered ${response.statusCode}`));
      })
      .once('timeout', function (this: ClientRequest) {
        this.destroy(Object.assign(new Error('too slow'), { code: 'ETIMEDOUT' }));
      })
      .once('error', failed)
      .end();
  });
}
