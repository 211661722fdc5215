import type { Preview } from '#core/previews/preview-plane.ts';

/**
 * Where a preview is, in words. Never a bare loopback address: cookies know no ports, so the app
 * would get the console's.
 */
export function addressOf({ url, localPort }: Preview): string {
  return url ?? `http://preview-${localPort}.localhost:${localPort}/ on the machine that Porthole runs on`;
}
