import { describe, expect, test } from '@jest/globals';
import { characterWidth } from '../../console/src/sandboxes/character-width.ts';

describe('character width in columns', () => {
  test.each([
    ['a letter', 'a', 1],
    ['a control character', '\u0007', 0],
    ['an umlaut', 'ü', 1],
    ['a combining accent', '\u0301', 0],
    ['a zero-width joiner', '\u200d', 0],
    ['a soft hyphen', '\u00ad', 1],
    ['a Chinese character', '漢', 2],
    ['one beyond the first plane', '\u{20000}', 2],
    ['a Korean syllable', '한', 2],
    ['a full-width letter', 'Ａ', 2],
    ['a half-width katakana', 'ｱ', 1],
    ['an emoji', '🙂', 2],
    ['a sign that is text by itself', '©', 1],
    ['a box of a table', '│', 1],
  ])('counts %s', (_, character, width) => {
    expect(characterWidth(character.codePointAt(0) ?? 0)).toBe(width);
    expect(characterWidth(character.codePointAt(0) ?? 0)).toBe(width);
  });
});
