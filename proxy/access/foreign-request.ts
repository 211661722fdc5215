import type { IncomingMessage } from 'node:http';
import { originOf, type PreviewView, siblingPort } from '../preview-headers.ts';

/**
 * Whether a page of another site has sent a request with the cookie of a visit (CSRF, XSSI). Other
 * previews of a zone count as other sites, which browsers know only if the zone is on the Public
 * Suffix List: `SameSite` does not help. Navigations with safe methods pass, as links lead to the
 * preview; who may show it in a frame is in its `frame-ancestors`.
 */
export function isForeign({ method, headers }: IncomingMessage, view: PreviewView): boolean {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  const isSafe = method === 'GET' || method === 'HEAD';
  if (isSafe && mode === 'navigate') return false;
  if (origin === undefined) return site === 'same-site' || site === 'cross-site';
  const isOwn = origin === originOf(view) || siblingPort(origin, view) !== undefined;
  // A page without referrers sends `Origin: null` to its own origin.
  return !isOwn && site !== 'same-origin';
}
