import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/**
 * The proxies in front of this process, from which X-Forwarded-For is believed. Everyone else can
 * write any address into that header.
 */
export class TrustedProxies {
  readonly #ranges: BlockList | undefined;

  /** @param ranges in CIDR notation; none: the client is the peer */
  constructor(ranges: readonly string[] = []) {
    if (ranges.length > 0) this.#ranges = new BlockList();
    for (const range of ranges) {
      const [base = '', bits] = range.split('/');
      this.#ranges?.addSubnet(base, Number(bits), isIPv6(base) ? 'ipv6' : 'ipv4');
    }
  }

  /**
   * The rightmost address that is no trusted proxy: each proxy appends the address that connects to
   * it. What precedes an entry that is no address is not read.
   * @param peer of the connection
   */
  client(peer: string | undefined, forwardedFor: string | undefined): string | undefined {
    let client = peer === undefined ? undefined : (addressOf(peer) ?? peer);
    if (this.#ranges === undefined || client === undefined) return client;
    const chain = forwardedFor?.split(',') ?? [];
    for (let at = chain.length - 1; at >= 0 && this.#trusts(client); at -= 1) {
      const next = addressOf(chain[at] ?? '');
      if (next === undefined) break;
      client = next;
    }
    return client;
  }

  #trusts(address: string): boolean {
    return this.#ranges?.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') === true;
  }
}

/** The client is the peer of the connection. */
export const NO_PROXIES = new TrustedProxies();

/** The client of a request, for the app and for limits. */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  proxies: TrustedProxies,
): string {
  const forwarded = headers['x-forwarded-for'];
  return proxies.client(socket.remoteAddress, forwarded?.toString()) ?? 'unknown';
}

/** IPv4 without the IPv6 prefix, and without the port that some proxies add. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim();
  const address = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text);
  const bare = (address?.[1] ?? address?.[2] ?? text).replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(bare) === 0 ? undefined : bare;
}
