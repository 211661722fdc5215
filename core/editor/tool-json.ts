/**
 * Maximum nesting of JSON from callers and sandboxes: deeper than real documents, and far below the
 * depth at which recursion overflows the stack.
 */
export const MAX_DEPTH = 100;

/** Whether JSON nests deeper than `most`. Does not recurse, whatever the input. */
export function isTooDeep(value: unknown, most: number = MAX_DEPTH): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue;
      if (depth === most) return true;
      for (const inner of Object.values(each)) next.push(inner);
    }
    level = next;
  }
  return false;
}

/** Where JSON is not interoperable. */
interface JsonFault {
  /** A JSON pointer (RFC 6901), truncated if long; empty: the root value. */
  readonly place: string;
  readonly what: string;
}

/** Maximum length of a reported pointer, in UTF-16 units. */
const MAX_POINTER_CHARS = 200;
/**
 * From here on canonical JSON writes doubles with an exponent, so readers do not take them for
 * integers.
 */
const EXPONENT = 1e21;

/**
 * The first place where JSON is not I-JSON (RFC 7493), which canonical JSON (RFC 8785) requires: a
 * lone surrogate in a text or a name, an integer beyond 2^53 - 1, which other readers may round, or
 * a number beyond every double, such as 1e400. Does not recurse, whatever the input.
 */
export function jsonFault(value: unknown): JsonFault | undefined {
  const rest: (readonly [value: unknown, place: string])[] = [[value, '']];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [each, place] = next;
    const what = faultOf(each);
    if (what !== undefined) return { place, what };
    if (typeof each !== 'object' || each === null) continue;
    const entries = Object.entries(each);
    for (const [name, inner] of entries.toReversed()) {
      const below = `${place}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`.slice(
        0,
        MAX_POINTER_CHARS,
      );
      if (!name.isWellFormed()) return { place: below, what: HALF };
      rest.push([inner, below]);
    }
  }
  return undefined;
}

const HALF = 'half a character (a lone surrogate): remove it';

function faultOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : HALF;
  if (typeof value !== 'number') return undefined;
  if (!Number.isFinite(value))
    return 'a number outside the range of a double, such as 1e400: send it as a string';
  const isInteger = Number.isInteger(value) && Math.abs(value) < EXPONENT;
  return isInteger && !Number.isSafeInteger(value)
    ? `an integer near ${value} beyond 2^53, which parsers read differently: send it as a string`
    : undefined;
}

/** Formats a fault to follow the word "holds". */
export function formatFault({ place, what }: JsonFault): string {
  return place === '' ? what : `at ${JSON.stringify(place)} ${what}`;
}

/**
 * Whether JSON holds a number beyond every double, such as 1e400: it parses as infinite, and would
 * be written as null. Does not recurse, whatever the input.
 */
export function isBeyondNumbers(value: unknown): boolean {
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const each = rest.pop();
    if (typeof each === 'number' && !Number.isFinite(each)) return true;
    if (typeof each !== 'object' || each === null) continue;
    for (const inner of Object.values(each)) rest.push(inner);
  }
  return false;
}
