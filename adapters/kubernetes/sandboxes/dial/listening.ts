import { isReachedOnLoopback, readSocketAddress } from '#core/rules/doctor/socket-address.ts';

/** Established, close-wait and listening: a server that takes one connection no longer listens once it has ours. */
const TAKEN = new Set(['01', '08', '0A']);

/** Whether, by the text of /proc/net/tcp and /proc/net/tcp6, a connection to a port of localhost is or would be taken. Lines that are none are passed over. */
export function isTaken(tables: string, port: number): boolean {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  for (const [, hex = '', at = '', state = ''] of tables.matchAll(
    /^ *\d+: ([0-9A-F]{8,32}):([0-9A-F]{4}) [0-9A-F]{8,32}:[0-9A-F]{4} ([0-9A-F]{2}) /gm,
  )) {
    if (at === wanted && TAKEN.has(state) && isReachedOnLoopback(readSocketAddress(hex) ?? '')) return true;
  }
  return false;
}
