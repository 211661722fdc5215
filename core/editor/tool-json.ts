/**
 * How deep JSON of callers and of sandboxes may nest: beyond any that people write, and far from
 * where recursion ends.
 */
export const MOST_DEPTH = 100;

/** Whether JSON nests deeper than that. Does not recurse, whatever it is given. */
export function isTooDeep(value: unknown, most: number = MOST_DEPTH): boolean {
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

/** Where JSON is not what every reader reads alike. */
interface JsonFault {
  /** A JSON pointer (RFC 6901), cut where it is long; empty: the value itself. */
  readonly place: string;
  readonly what: string;
}

/** Of a pointer that is told, in UTF-16 units. */
const MOST_PLACE = 200;
/**
 * From here on doubles have an exponent as text in canonical JSON, and nobody takes them for an
 * integer.
 */
const EXPONENT = 1e21;

/**
 * The first place at which JSON is no I-JSON (RFC 7493), which canonical JSON (RFC 8785) needs:
 * half a character in a text or a name, an integer beyond 2^53 - 1, of which others read another
 * one, and a number beyond every double, such as 1e400. Does not recurse, whatever it is given.
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
      const below = `${place}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`.slice(0, MOST_PLACE);
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
  if (!Number.isFinite(value)) return 'a number that no double is, such as 1e400: send it as a text';
  const isInteger = Number.isInteger(value) && Math.abs(value) < EXPONENT;
  return isInteger && !Number.isSafeInteger(value)
    ? `an integer near ${value} that is beyond 2^53, which not everybody reads alike: send it as a text`
    : undefined;
}

/** As a sentence goes on after "holds". */
export function formatFault({ place, what }: JsonFault): string {
  return place === '' ? what : `at ${JSON.stringify(place)} ${what}`;
}

/**
 * Whether JSON holds a number beyond every double, such as 1e400: it is read as infinite, and would
 * be written as null. Does not recurse, whatever it is given.
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
