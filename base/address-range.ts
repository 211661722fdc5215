import { BlockList, isIPv4 } from 'node:net';

/**
 * Metadata addresses, where clouds serve a machine's credentials: link-local, and the addresses of
 * Alibaba, Azure, Oracle and AWS.
 */
const METADATA = [
  '169.254.0.0/16',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fe80::/10',
  'fd00:ec2::254/128',
] as const;

/**
 * Addresses that are not public (RFC 6890 and later): the cluster's pods, Services and nodes, and
 * documentation ranges, which some home networks use. IPv6 ranges that map, translate or carry IPv4
 * are included because they lead back to private IPv4 addresses.
 */
const PRIVATE = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/127',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fec0::/10',
  'ff00::/8',
] as const;

/**
 * What a range that sandboxes may reach must exclude: always metadata addresses, and private
 * addresses unless the range itself is private.
 */
export function exceptionsOf(range: string): string[] {
  const within = [...METADATA, ...PRIVATE].filter((each) => contains(range, each) && each !== range);
  return within.filter((each) => !within.some((other) => other !== each && contains(other, each)));
}

/** Whether the range contains metadata addresses only. */
export function reachesMetadataOnly(range: string): boolean {
  return METADATA.some((each) => contains(each, range));
}

/** Whether the range contains no public address. */
export function isPrivate(range: string): boolean {
  return PRIVATE.some((each) => contains(each, range));
}

/** Whether every address of `inner` is one of `outer`; both in CIDR notation. */
export function contains(outer: string, inner: string): boolean {
  const [outerBase, outerBits] = parts(outer);
  const [innerBase, innerBits] = parts(inner);
  const family = isIPv4(outerBase) ? 'ipv4' : 'ipv6';
  if (isIPv4(innerBase) !== (family === 'ipv4') || innerBits < outerBits) return false;
  const list = new BlockList();
  list.addSubnet(outerBase, outerBits, family);
  return list.check(innerBase, family);
}

function parts(range: string): [base: string, bits: number] {
  const [base = '', bits = ''] = range.split('/');
  return [base, Number(bits)];
}

/** Addresses that no name may resolve to: this machine, multicast, and IPv6 that carries IPv4. */
const NEVER = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002::/16',
  'ff00::/8',
] as const;

export type AddressRefusal = 'metadata address' | 'reserved address' | 'private address';

/**
 * Why a connection to an address is refused; undefined if it is allowed. Checked after resolution,
 * on the address that is used, to prevent DNS rebinding.
 * @param address canonical
 * @param permitted ranges that the installation permits, in CIDR notation. They never permit
 * metadata addresses
 * @param mayBePrivate whether the name may resolve to a private address
 */
export function addressRefusal(
  address: string,
  permitted: readonly string[],
  mayBePrivate: boolean,
): AddressRefusal | undefined {
  const range = `${address}/${isIPv4(address) ? 32 : 128}`;
  if (reachesMetadataOnly(range)) return 'metadata address';
  if (permitted.some((each) => contains(each, range))) return undefined;
  if (NEVER.some((each) => contains(each, range))) return 'reserved address';
  return isPrivate(range) && !mayBePrivate ? 'private address' : undefined;
}
