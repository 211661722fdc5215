/**
 * Which Host headers the API answers to. Any other one is refused: with DNS rebinding a foreign page could otherwise reach the API under a name of its own.
 */
export function knownHosts(options: {
  readonly listenHost: string;
  readonly publicUrl: URL | undefined;
  readonly allowedHosts: readonly string[];
}): (hostHeader: string) => boolean {
  const names = new Set(['localhost', '127.0.0.1', '[::1]', ...options.allowedHosts]);
  if (options.publicUrl !== undefined) names.add(options.publicUrl.hostname.toLowerCase());
  if (options.listenHost !== '0.0.0.0' && options.listenHost !== '::') {
    names.add(
      options.listenHost.includes(':') ? `[${options.listenHost}]` : options.listenHost.toLowerCase(),
    );
  }
  return (hostHeader) => names.has(hostHeader.replace(/:\d{1,5}$/, '').toLowerCase());
}
