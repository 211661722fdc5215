/**
 * A path of a sandbox as the API's URLs have it: absolute, without its leading slash, each part percent-encoded. What is relative is below /workspace.
 * @throws TypeError for a path that a URL cannot carry: one with `.` or `..` in it would be another path on the way
 */
export function encodePath(path: string): string {
  const absolute = path.startsWith('/') ? path : `/workspace/${path}`;
  const parts = absolute.split('/').filter((part) => part !== '');
  if (parts.length === 0 || parts.some((part) => part === '.' || part === '..')) {
    throw new TypeError(
      `path must name a file without "." and ".." parts, got ${JSON.stringify(path.slice(0, 200))}.`,
    );
  }
  return parts.map((part) => encodeURIComponent(part)).join('/');
}
