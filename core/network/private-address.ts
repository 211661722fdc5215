import { isIPv4 } from 'node:net';
import { contains, isPrivate, reachesMetadataOnly } from '../auth/address-range.ts';

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
): 'metadata address' | 'reserved address' | 'private address' | undefined {
  const range = `${address}/${isIPv4(address) ? 32 : 128}`;
  if (reachesMetadataOnly(range)) return 'metadata address';
  if (permitted.some((each) => contains(each, range))) return undefined;
  if (NEVER.some((each) => contains(each, range))) return 'reserved address';
  return isPrivate(range) && !mayBePrivate ? 'private address' : undefined;
}
