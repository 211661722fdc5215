/**
 * `Content-Disposition` of a download (RFC 6266): an ASCII name for all clients, and the exact name
 * for those that support it. Neither can end the header or name another folder.
 */
export function attachment(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._ -]/g, '_').replace(/^\.+/, '_');
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

/**
 * Whether an `Accept` header (RFC 9110, section 12.5.1) prefers one media type to another. False
 * without the header and for equal weights. Malformed ranges are ignored.
 */
export function prefers(accept: string | undefined, type: string, to: string): boolean {
  if (accept === undefined) return false;
  const ranges = accept.toLowerCase().split(',').flatMap(readRange);
  return quality(ranges, type) > quality(ranges, to);
}

interface Range {
  readonly range: string;
  /** 0..1 */
  readonly q: number;
}

function readRange(text: string): Range[] {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (weight === undefined) return [{ range, q: 1 }];
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? [{ range, q: Number(weight) }] : [];
}

/** The weight of the most specific range. */
function quality(ranges: readonly Range[], type: string): number {
  for (const range of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const found = ranges.find((each) => each.range === range);
    if (found !== undefined) return found.q;
  }
  return 0;
}

/**
 * Default response headers: other origins cannot load or frame it, caches do not store it, and its
 * type is not sniffed. So no text of a sandbox, and no error that repeats one, can run as a page or
 * a script of this origin.
 */
const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** A copy of the response headers in lower case, with the safe defaults. */
export function withSafeHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return { ...SAFE_HEADERS, ...headers };
}
