import { networkInterfaces } from 'node:os';

export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** Whether an address, without the prefix of mapped ones, is one of this network namespace. */
export function isOwnAddress(): (address: string) => boolean {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address)),
  );
  return (address) => isLoopback(address) || own.has(address);
}
