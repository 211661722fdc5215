import type { Preview } from '#core/ports/preview-plane.ts';

/** Where a preview is, in words. */
export function addressOf({ url, localPort }: Preview): string {
  return url ?? `http://127.0.0.1:${localPort} on the machine that Porthole runs on`;
}
