/**
 * Request headers that end here: those that concern one connection only, and those that say what only a gateway may say.
 * `host`, the lengths and `x-forwarded-*` are written anew.
 */
const REQUEST_ENDS_HERE: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  // CGI programs read this one as the address of a proxy to go through (CVE-2016-5385).
  'proxy',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-real-ip',
]);

/** Response headers that end here, or that the gateway itself decides. */
const RESPONSE_ENDS_HERE: ReadonlySet<string> = new Set([
  // Its "cookies" are those of the whole registrable domain: a preview could sign people out of whatever else is there.
  'clear-site-data',
  'connection',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'referrer-policy',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-robots-tag',
]);

/** Whether a request header (lower case) goes on to the app. */
export function requestHeaderPasses(lowerName: string): boolean {
  // CGI and WSGI read `_` and `-` alike: `X_Forwarded_Host` would slip past and pass for the real one.
  const name = lowerName.includes('_') ? lowerName.replaceAll('_', '-') : lowerName;
  return !REQUEST_ENDS_HERE.has(name) && !name.startsWith('x-forwarded-') && !name.startsWith('x-porthole-');
}

/** Whether a response header (lower case) goes on to the client. */
export function responseHeaderPasses(lowerName: string): boolean {
  return !RESPONSE_ENDS_HERE.has(lowerName) && !lowerName.startsWith('x-porthole-');
}

/** The headers (lower case) that a Connection value declares to concern one connection only; undefined for none. */
export function namedInConnection(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === '') return undefined;
  const lower = connection.toLowerCase();
  if (lower === 'keep-alive' || lower === 'close') return undefined;
  return new Set(lower.split(',').map((name) => name.trim()));
}
