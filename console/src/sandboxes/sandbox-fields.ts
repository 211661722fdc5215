/**
 * The API's rules for the fields of a sandbox, for messages at the field. The API's validation is
 * authoritative.
 */

export function isName(value: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(value);
}

/** `key:value`; the key ends at the first colon. */
export function isTagFilter(value: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}:/.test(value);
}

/**
 * Parses lines of `NAME=value`, or of `key:value` with another separator; or returns the first
 * invalid line.
 */
export function readPairs(
  text: string,
  sign: '=' | ':',
): { readonly pairs: Readonly<Record<string, string>> } | { readonly bad: string } {
  const pairs: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf(sign);
    const name = line.slice(0, at).trim();
    if (at < 1 || name === '') return { bad: line.trim() };
    // The value is not trimmed: a variable's value may begin with a space.
    pairs[name] = sign === '=' ? line.slice(at + 1) : line.slice(at + 1).trim();
  }
  return { pairs };
}

/**
 * The API's errors of each field (`name: must be …, got ….`), by form field; undefined for any
 * other message.
 * @param fields the form's fields, with the prefix of the API's errors
 */
export function problemsByField(
  message: string,
  fields: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  const found = Object.entries(fields)
    .flatMap(([field, begins]) => {
      const at = message.startsWith(begins) ? 0 : message.indexOf(`. ${begins}`) + 2;
      return at === 0 || at > 1 ? [{ field, begins, at }] : [];
    })
    .sort((a, b) => a.at - b.at);
  if (found[0]?.at !== 0) return undefined;
  return Object.fromEntries(
    found.map(({ field, at }, index) => {
      const words = message.slice(at, found[index + 1]?.at).trim();
      return [field, words.replace(/^[\w.]+: /, '')];
    }),
  );
}
