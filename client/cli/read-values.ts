import { UsageError } from './command.ts';

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/**
 * Seconds of a duration such as `90`, `90s`, `30m`, `2h`, `1d`.
 * @throws UsageError
 */
export function readDuration(option: string, text: string): number {
  const [, number, unit = 's'] = /^(\d{1,7})([smhd])?$/.exec(text) ?? [];
  const seconds = Number(number) * SECONDS[unit as keyof typeof SECONDS];
  if (number !== undefined && seconds > 0) return seconds;
  throw new UsageError(`--${option} must be a time such as 90s, 30m, 2h or 1d, got ${JSON.stringify(text)}.`);
}

/** @throws UsageError */
export function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new UsageError(`a port is a whole number from 1 to 65535, got ${JSON.stringify(text.slice(0, 40))}.`);
}

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
