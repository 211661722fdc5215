import { describe, expect, test } from '@jest/globals';
import { plainText } from '#base/plain-text.ts';

describe('single-line text from a sandbox', () => {
  test.each([
    ['ordinary words', 'Vite + React', 'Vite + React'],
    ['other scripts', 'Überblick 概要 🚢', 'Überblick 概要 🚢'],
    ['line ends and tabs', ' a\r\n\tb\u2028c ', 'a b c'],
    ['escape sequences of terminals', 'a\u001b[31mred\u001b[0m', 'a [31mred [0m'],
    ['marks that turn the direction round', 'exe.\u202etxt', 'exe. txt'],
    ['invisible marks', 'pay\u200bpal', 'pay pal'],
    ['half a character', 'a\ud800b', 'a b'],
    ['nothing', '', ''],
  ])('escapes %s', (_name, text, line) => {
    expect(plainText(text, 40)).toBe(line);
  });

  test('truncates and marks the cut', () => {
    expect(plainText('abcdef', 6)).toBe('abcdef');
    expect(plainText('abcdefg', 6)).toBe('abcde…');
    expect(plainText('🚢'.repeat(50), 3)).toBe('🚢🚢…');
  });
});
