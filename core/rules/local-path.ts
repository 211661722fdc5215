/** Characters that a way back may have: it travels in a cookie. */
export const MAX_LOCAL_PATH = 1_000;

/** Printable ASCII without a backslash, which browsers take for a slash; tabs and line breaks, which they leave out before they look, are none. */
const PLAIN = /^\/[!-[\]-~]*$/;

/** Whether it is a path of the very origin that hands it out, so that a redirect to it leads nowhere else. `//host` is another origin, and `/.//host` is one once its dots are resolved. */
export function isLocalPath(path: string): boolean {
  if (path.length > MAX_LOCAL_PATH || !PLAIN.test(path)) return false;
  const url = URL.parse(path, 'http://porthole.invalid');
  return url !== null && url.origin === 'http://porthole.invalid' && !url.pathname.startsWith('//');
}
