import type { Preview } from '#core/previews/preview-plane.ts';

/**
 * The address of a preview, in words. Never a bare loopback address: cookies ignore ports, so the
 * app would receive the console's.
 */
export function addressOf({ url, localPort }: Preview): string {
  return url ?? `http://preview-${localPort}.localhost:${localPort}/ on the machine that Porthole runs on`;
}
