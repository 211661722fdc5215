import { isIPv4 } from 'node:net';
import { contains, isPrivate, reachesMetadataOnly } from '../auth/address-range.ts';

/** Never behind a name: this machine itself, groups, and IPv6 that carries IPv4. */
const NEVER = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
  'ff00::/8',
] as const;

/**
 * Why no connection goes to an address; undefined when it may. Asked after resolution, about the
 * very address that is connected to, so that a name which changes its address (DNS rebinding) gains
 * nothing.
 *
 * @param address canonical
 * @param permitted ranges of the installation's own, in CIDR notation. They never open metadata
 * addresses
 * @param mayBePrivate whether the name may lead into the machine's network
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
