import { isIP } from 'node:net';
import type { PortInfo } from '#guest/protocol/ports-protocol.ts';
import { plainText } from '../shared/plain-text.ts';

/** A TCP port on which a sandbox accepts connections. */
export interface Listener {
  readonly port: number;
  /** As people write them, e.g. `127.0.0.1`, `0.0.0.0`, `::`; at least one. */
  readonly addresses: readonly string[];
  /** Undefined for a process that the guest may not look at. */
  readonly process: { readonly pid: number; readonly command: string } | undefined;
}

/** More servers than these are not listed. */
const MOST_PORTS = 256;
const MOST_ADDRESSES = 8;
const MOST_COMMAND = 200;

/**
 * What a guest says that listens, by port. Code in the sandbox may answer in the guest's place:
 * only addresses and plain text reach people.
 */
export function readListeners(ports: readonly PortInfo[]): Listener[] {
  return ports.slice(0, MOST_PORTS).flatMap(({ port, address, pid, program, command }) => {
    const addresses = new Set(address.split(', ', MOST_ADDRESSES).filter((each) => isIP(each) !== 0));
    if (addresses.size === 0) return [];
    const process =
      pid === null ? undefined : { pid, command: plainText(command ?? program ?? '', MOST_COMMAND) };
    return [{ port, addresses: [...addresses].toSorted(), process }];
  });
}

/** Whether a connection to 127.0.0.1 or to ::1 arrives at a server that listens on this address. */
export function isReachedOnLoopback(address: string): boolean {
  return isWildcard(address) || address === '127.0.0.1' || address === '::1';
}

/** Whether somebody outside of the sandbox could connect, as far as the address goes. */
export function isOpen(address: string): boolean {
  return !address.startsWith('127.') && address !== '::1';
}

function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}
