import { plainText } from '../plain-text.ts';
import { readSocketAddress } from './socket-address.ts';

/** A TCP port that a sandbox takes connections on. */
export interface Listener {
  readonly port: number;
  /** As people write them, e.g. `127.0.0.1`, `0.0.0.0`, `::`; at least one. */
  readonly addresses: readonly string[];
  /** Who holds it; undefined where that does not show. */
  readonly process: { readonly pid: number; readonly command: string } | undefined;
}

/** Ports beyond are left out: nobody starts so many servers to preview one. */
const MOST_PORTS = 256;
const MOST_ADDRESSES = 8;
const MOST_COMMAND = 200;

/** Linux's own limit on process ids. */
const MOST_PID = 4_194_304;

/**
 * Reads what the listening script says: a line `listens <address>:<port in hex> <inode>` a socket, a line `holds <pid> <inode> <command line>` a process that has
 * it open. The sandbox may say anything: lines that are neither are passed over, and so is whatever is too much.
 */
export function readListeners(text: string): Listener[] {
  const holders = new Map<string, { pid: number; command: string }>();
  for (const [, pid = '', inode = '', command = ''] of text.matchAll(/^holds (\d{1,7}) (\d{1,20}) (.*)$/gm)) {
    const known = holders.get(inode);
    // Workers inherit a socket; the process that opened it has the lowest id of them.
    if (Number(pid) > MOST_PID || (known !== undefined && known.pid <= Number(pid))) continue;
    holders.set(inode, { pid: Number(pid), command: plainText(command, MOST_COMMAND) });
  }
  const ports = new Map<number, { addresses: Set<string>; process: Listener['process'] }>();
  for (const [, hex = '', portHex = '', inode = ''] of text.matchAll(
    /^listens ([0-9A-F]{8,32}):([0-9A-F]{4}) (\d{1,20})$/gm,
  )) {
    const address = readSocketAddress(hex);
    const port = Number.parseInt(portHex, 16);
    if (address === undefined || port === 0) continue;
    const found = ports.get(port);
    if (found === undefined && ports.size === MOST_PORTS) continue;
    const { addresses, process } = found ?? { addresses: new Set<string>(), process: undefined };
    if (addresses.size < MOST_ADDRESSES) addresses.add(address);
    ports.set(port, { addresses, process: process ?? holders.get(inode) });
  }
  return [...ports]
    .map(([port, { addresses, process }]) => ({ port, addresses: [...addresses].toSorted(), process }))
    .toSorted((a, b) => a.port - b.port);
}
