import { parsePreviewHost } from '#core/rules/preview-token.ts';

export type Scheme = 'http' | 'https';

/** Whose page sent a request, going by its Origin. */
export type OriginVerdict = 'none' | 'own' | 'sibling' | 'foreign';

/** The origin that a browser sees when it talks to this Host. */
export function originOf(scheme: Scheme, host: string): string {
  return `${scheme}://${host.toLowerCase()}`;
}

/**
 * Judges an Origin header against the preview that the request is for. A sibling is another preview in the same zone, on
 * the same listener, whose token `isSibling` knows to belong to the same run.
 */
export function judgeOrigin(
  origin: string | undefined,
  at: { readonly scheme: Scheme; readonly host: string; readonly zone: string },
  isSibling: (token: string) => boolean,
): OriginVerdict {
  if (origin === undefined) return 'none';
  if (origin === originOf(at.scheme, at.host)) return 'own';
  const prefix = `${at.scheme}://`;
  if (!origin.startsWith(prefix)) return 'foreign';
  const host = origin.slice(prefix.length);
  if (portOf(host) !== portOf(at.host)) return 'foreign';
  const named = parsePreviewHost(host, at.zone);
  return named.kind === 'token' && isSibling(named.token) ? 'sibling' : 'foreign';
}

/**
 * Whether the app's own check of Origin has to be satisfied with a rewritten one: dev servers refuse a foreign Origin on
 * their hot-reload socket, Next.js also under `/_next/`. The path is compared as sent: another spelling of it is not
 * rewritten, so the app's own check stands there.
 */
export function rewritesOrigin(url: string, isUpgrade: boolean): boolean {
  return isUpgrade || url.startsWith('/_next/');
}

/** `:8787`, or nothing. */
export function portOf(host: string): string {
  return /:\d+$/.exec(host)?.[0] ?? '';
}
