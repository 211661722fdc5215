import { isIP } from 'node:net';

/**
 * Which Host headers the API answers to. Any other one is refused: with DNS rebinding a foreign page could otherwise reach the API under a name of its own. Where
 * the host listens on every address, every address is its own: an IP address cannot be rebound.
 */
export function knownHosts(options: {
  readonly listenHost: string;
  readonly publicUrl: URL | undefined;
  readonly allowedHosts: readonly string[];
}): (hostHeader: string) => boolean {
  const isOpen = isWildcard(options.listenHost);
  const names = new Set(['localhost', '127.0.0.1', '[::1]', ...options.allowedHosts]);
  if (options.publicUrl !== undefined) names.add(options.publicUrl.hostname.toLowerCase());
  if (!isOpen) {
    names.add(
      options.listenHost.includes(':') ? `[${options.listenHost}]` : options.listenHost.toLowerCase(),
    );
  }
  return (hostHeader) => {
    const name = hostHeader.replace(/:\d{1,5}$/, '').toLowerCase();
    return names.has(name) || (isOpen && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0);
  };
}

/** Whether a listen address means every address of the machine. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}
