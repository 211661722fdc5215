/**
 * Whether an `Accept` header (RFC 9110, section 12.5.1) truly prefers one media type to another. Without the header, and where both are as welcome, it does not. What is malformed counts as not there.
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

/** Of the range that says most about it. */
function quality(ranges: readonly Range[], type: string): number {
  for (const range of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const found = ranges.find((each) => each.range === range);
    if (found !== undefined) return found.q;
  }
  return 0;
}
