import { isIP } from 'node:net';
import type { PortInfo } from '#protocol/guest/ports-protocol.ts';
import { plainText } from '#base/plain-text.ts';

/** A TCP port on which a sandbox accepts connections. */
export interface Listener {
  readonly port: number;
  /** In text form, e.g. `127.0.0.1`, `0.0.0.0`, `::`; at least one. */
  readonly addresses: readonly string[];
  /** Undefined for a process that the guest may not inspect. */
  readonly process: { readonly pid: number; readonly command: string } | undefined;
}

/** Maximum number of listed ports. */
const MAX_PORTS = 256;
const MAX_ADDRESSES = 8;
const MAX_COMMAND_CHARS = 200;

/**
 * The listeners that a guest reports, by port. Code in the sandbox may answer in place of the
 * guest: only addresses and plain text pass.
 */
export function readListeners(ports: readonly PortInfo[]): Listener[] {
  return ports.slice(0, MAX_PORTS).flatMap(({ port, address, pid, program, command }) => {
    const addresses = new Set(address.split(', ', MAX_ADDRESSES).filter((each) => isIP(each) !== 0));
    if (addresses.size === 0) return [];
    const process =
      pid === null ? undefined : { pid, command: plainText(command ?? program ?? '', MAX_COMMAND_CHARS) };
    return [{ port, addresses: [...addresses].toSorted(), process }];
  });
}

/** Whether a connection to 127.0.0.1 or ::1 reaches a server that listens on this address. */
export function isReachedOnLoopback(address: string): boolean {
  return isWildcard(address) || address === '127.0.0.1' || address === '::1';
}

/** Whether the address accepts connections from outside the sandbox. */
export function isOpen(address: string): boolean {
  return !address.startsWith('127.') && address !== '::1';
}

function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}
