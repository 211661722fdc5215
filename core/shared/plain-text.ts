/**
 * Control characters, line separators, and what turns a text's direction round or cannot be seen:
 * what a hostile text hides behind.
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
