/** What the kernel writes into /proc/net/tcp and /proc/net/tcp6 for addresses that a connection to localhost reaches; on big-endian machines, too. */
const REACHED = new Set([
  '00000000',
  '0100007F',
  '7F000001',
  '0'.repeat(32),
  `${'0'.repeat(24)}01000000`,
  `${'0'.repeat(31)}1`,
  '0000000000000000FFFF00000100007F',
  '00000000000000000000FFFF7F000001',
]);

/** Established, close-wait and listening: a server that takes one connection no longer listens once it has ours. */
const TAKEN = new Set(['01', '08', '0A']);

/** Whether, by these tables, a connection to a port of localhost is or would be taken. Lines that are none are passed over. */
export function isTaken(tables: string, port: number): boolean {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  for (const [, address = '', at = '', state = ''] of tables.matchAll(
    /^ *\d+: ([0-9A-F]{8,32}):([0-9A-F]{4}) [0-9A-F]{8,32}:[0-9A-F]{4} ([0-9A-F]{2}) /gm,
  )) {
    if (at === wanted && TAKEN.has(state) && REACHED.has(address)) return true;
  }
  return false;
}
