import { UsageError } from './command.ts';

/**
 * Repeated `key=value` options; also `key:value` if a colon is allowed.
 * @throws UsageError
 */
export function readPairs(
  option: string,
  texts: readonly string[],
  separators: RegExp,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.search(separators);
      if (at < 1) throw new UsageError(`--${option} must be key=value, got ${JSON.stringify(text)}.`);
      return [text.slice(0, at), text.slice(at + 1)] as const;
    }),
  );
}

/** Tags, as `key=value` or `key:value`. */
export function readTags(texts: readonly string[]): Readonly<Record<string, string>> {
  return readPairs('tag', texts, /[=:]/);
}
