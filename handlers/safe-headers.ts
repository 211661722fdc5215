/**
 * What every answer says to a browser unless it says otherwise itself: that it is nobody else's to load, to frame or to keep, and nothing but what its type says. So no text of a sandbox, and
 * no error that repeats one, can ever run as a page or a script of this origin.
 */
const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The headers of an answer, in lower case, with those that keep browsers from making more of it. */
export function withSafeHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return { ...SAFE_HEADERS, ...headers };
}
