import { namedInConnection, responseHeaderPasses } from './forwarded-header.ts';
import type { ResponseHead } from './upstream/response-head.ts';

/** Origins by which a server in the sandbox knows itself. */
const LOCAL_URL = /^(?:https?:)?\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{1,5})(?=[/?#]|$)/i;
const DOMAIN_ATTRIBUTE = /;[ \t]*domain[ \t]*(?:=|;|$)/i;

/**
 * The app's response headers as the client gets them: name, value, name, value … Cookies lose `Domain=`, redirects to the
 * app's own address lead back to the preview, and the two headers that keep the URL secret are ours whatever the app says.
 * Framing is left out, the Content-Length apart: that is for whoever writes the response.
 */
export function responseHeaders(head: ResponseHead, ownOrigin: string, targetPort: number): string[] {
  const out: string[] = [];
  const dropped = namedInConnection(head.connection.slice(1));
  const { rawHeaders } = head;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const value = rawHeaders[at + 1] as string;
    const lower = name.toLowerCase();
    if (!responseHeaderPasses(lower) || dropped?.has(lower)) continue;
    if (lower === 'set-cookie') out.push(name, withoutDomain(value));
    else if (lower === 'location') out.push(name, ownLocation(value, ownOrigin, targetPort));
    else out.push(name, value);
  }
  if (head.contentLength !== undefined && head.status !== 204) {
    out.push('Content-Length', String(head.contentLength));
  }
  out.push('Referrer-Policy', 'no-referrer', 'X-Robots-Tag', 'noindex, nofollow');
  return out;
}

/** A Set-Cookie value without its Domain: a preview sets cookies for itself, never for the zone. */
export function withoutDomain(cookie: string): string {
  if (!DOMAIN_ATTRIBUTE.test(cookie)) return cookie;
  const [pair = '', ...attributes] = cookie.split(';');
  return [pair, ...attributes.filter((attribute) => !/^\s*domain\s*(?:=|$)/i.test(attribute))].join(';');
}

/** A Location that names the app's own address (`http://localhost:3000/x`), as the preview's own origin has it. */
export function ownLocation(location: string, ownOrigin: string, targetPort: number): string {
  const local = LOCAL_URL.exec(location);
  return local !== null && Number(local[1]) === targetPort
    ? ownOrigin + location.slice(local[0].length)
    : location;
}
