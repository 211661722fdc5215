/** Characters of two columns besides emoji: the wide and full-width ranges of East Asian Width. */
const WIDE =
  /[\u1100-\u115F\u2329\u232A\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F200}-\u{1F265}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;
/** Zero-width: combines with the previous character. The soft hyphen is visible. */
const NONE = /[\u1160-\u11FF]|(?!\u00AD)[\p{Mn}\p{Me}\p{Cf}]/u;

/** Cache by code point: the width plus one; 0: not computed. */
const known = new Uint8Array(0x40000);

/**
 * Columns that current programs give a character (`wcwidth`): the terminal's own table is of 2010,
 * with emoji in one column.
 */
export function characterWidth(codePoint: number): 0 | 1 | 2 {
  if (codePoint < 0x300) return codePoint < 0x20 || (codePoint >= 0x7f && codePoint < 0xa0) ? 0 : 1;
  const before = known[codePoint];
  if (before !== undefined && before > 0) return (before - 1) as 0 | 1 | 2;
  const character = String.fromCodePoint(codePoint);
  const width = NONE.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  if (codePoint < known.length) known[codePoint] = width + 1;
  return width;
}

/**
 * Width and joining of a character after another, as xterm packs them: `state << 3 | width << 1 |
 * joins`.
 */
function charProperties(codePoint: number, preceding: number): number {
  const width = characterWidth(codePoint);
  const widthBefore = (preceding >> 1) & 3;
  if (width > 0 || preceding === 0 || widthBefore === 0) return width << 1;
  return (widthBefore << 1) | 1;
}

/** For `terminal.unicode.register`. */
export const UNICODE_OF_TODAY = { version: 'porthole', wcwidth: characterWidth, charProperties };
