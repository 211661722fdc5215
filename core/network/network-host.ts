import { isIP } from 'node:net';

/** A host in canonical form: a DNS name in lower-case ASCII, or an IP address. */
export type NetworkHost =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'address'; readonly address: string };

/** RFC 1035 §2.3.4, and underscores, which service names use. */
const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/**
 * Parses a host in any spelling. IPv4 in octal, hexadecimal or with fewer parts becomes canonical,
 * as a resolver would read it (WHATWG URL §3.5). IPv4-mapped IPv6 becomes IPv4. Undefined for an
 * invalid host.
 */
export function readHost(text: string): NetworkHost | undefined {
  const bare = text.replace(/^\[(.*)\]$/s, '$1');
  // An address with a zone is link-local.
  if (isIP(bare) !== 0) return bare.includes('%') ? undefined : addressOf(bare);
  if (text === '' || text.length > 260 || /[\s/?#@\\%:[\]<>^|]/.test(text)) return undefined;
  const hostname = URL.parse(`http://${text}/`)?.hostname;
  if (hostname === undefined) return undefined;
  if (isIP(hostname) !== 0) return addressOf(hostname);
  const name = hostname.replace(/\.$/, '');
  return NAME.test(name) ? { kind: 'name', name } : undefined;
}

/** Where a client of the URL connects: the host without brackets, and the port. */
export function endpointOf({ hostname, port, protocol }: URL): {
  readonly host: string;
  readonly port: number;
} {
  const usual = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? usual : Number(port) };
}

export function hostText(host: NetworkHost): string {
  return host.kind === 'name' ? host.name : host.address;
}

function addressOf(address: string): NetworkHost {
  if (isIP(address) === 4) return { kind: 'address', address };
  const { hostname } = new URL(`http://[${address}]/`);
  const canonical = hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (mapped === null) return { kind: 'address', address: canonical };
  const bytes = mapped.slice(1).flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
  return { kind: 'address', address: bytes.join('.') };
}
