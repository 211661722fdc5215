/**
 * Characters that can disguise hostile text: control characters, line separators, bidirectional
 * overrides and invisible characters.
 */
const UNSEEN = /[\p{C}\p{Z}]+/gu;

/**
 * A text from a sandbox as one line that shows all that it says: no control characters, single
 * spaces, at most `most` characters.
 */
export function plainText(text: string, most: number): string {
  const line = Array.from(
    text
      .slice(0, most * 4)
      .replace(UNSEEN, ' ')
      .trim(),
  );
  return line.length <= most ? line.join('') : `${line.slice(0, most - 1).join('')}…`;
}

/** Like `plainText`, for texts of several lines: line breaks, tabs and spaces stay. */
export function plainLines(text: string, most: number): string {
  return text
    .slice(0, most)
    .replace(/\r\n?|[\p{Zl}\p{Zp}]/gu, '\n')
    .replace(/[^\P{C}\n\t]/gu, ' ')
    .trim();
}
