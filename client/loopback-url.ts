const LOOPBACK = /^(?:127(?:\.\d+){3}|\[::1\]|(?:.+\.)?localhost)$/;

/** Why an address must not be handed on; undefined: others can open it. */
export function loopbackNote(url: string): string | undefined {
  if (!LOOPBACK.test(new URL(url).hostname)) return undefined;
  return 'Only this machine can open the address. Set PORTHOLE_PUBLIC_URL to share it.';
}
