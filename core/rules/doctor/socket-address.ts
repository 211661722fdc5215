/**
 * An address as /proc/net/tcp and /proc/net/tcp6 write it, as people do. The kernel prints words of 32 bits in the machine's own order: what is no address of
 * localhost read from the back, as nearly all machines need it, but is one read from the front, comes from one of the others. Undefined for what is none.
 */
export function readSocketAddress(hex: string): string | undefined {
  if (!/^(?:[0-9A-F]{8}|[0-9A-F]{32})$/.test(hex)) return undefined;
  const words = hex.match(/.{8}/g) ?? [];
  const bytesOf = (word: string) => (word.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16));
  const little = format(words.flatMap((word) => bytesOf(word).toReversed()));
  const big = format(words.flatMap(bytesOf));
  return !isLoopback(little) && isLoopback(big) ? big : little;
}

/** Whether a connection to 127.0.0.1 or to ::1 arrives at a server that listens on this address. */
export function isReachedOnLoopback(address: string): boolean {
  return isWildcard(address) || address === '127.0.0.1' || address === '::1';
}

/** Whether somebody outside of the sandbox could connect, as far as the address goes. */
export function isOpen(address: string): boolean {
  return !isLoopback(address);
}

function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** 4 or 16 bytes. IPv4 in IPv6 is shown as the IPv4 that it is. */
function format(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  const isMapped = bytes.slice(0, 12).join() === '0,0,0,0,0,0,0,0,0,0,255,255';
  if (isMapped) return bytes.slice(12).join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((bytes[at * 2] as number) * 256 + (bytes[at * 2 + 1] as number)).toString(16),
  );
  // The longest run of zeros, and the first of several, as RFC 5952 section 4.2.3 asks.
  const runs = [...groups.join(':').matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)];
  const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length);
  if (longest === undefined) return groups.join(':');
  const text = groups.join(':');
  const before = text.slice(0, longest.index).replace(/:$/, '');
  const after = text.slice(longest.index + longest[0].length).replace(/^:/, '');
  return `${before}::${after}`;
}
