import { describe, expect, test } from '@jest/globals';
import { isReachable, nameProblem, shownName } from '../../console/src/files/file-names.ts';

describe('file name', () => {
  test.each([
    ['a plain one', 'notes.txt', 'notes.txt'],
    ['with a line end', 'a\nb', 'a⟨U+000A⟩b'],
    ['that turns the reading order', '\u202egpj.exe', '⟨U+202E⟩gpj.exe'],
    ['with invisible characters', 'a\u200bb', 'a⟨U+200B⟩b'],
    ['with spaces at its ends', ' a b  ', '␣a b␣␣'],
    ['with an emoji of several', '👩‍💻.md', '👩‍💻.md'],
    ['in Arabic', 'ملف.txt', 'ملف.txt'],
  ])('displays %s', (_, name, shown) => {
    expect(shownName(name)).toBe(shown);
  });

  test.each([
    ['', 'Type a name.'],
    ['..', 'A folder of that name already exists.'],
    ['a/b', 'A name has no slash.'],
    ['ü'.repeat(128), 'A name has at most 255 bytes.'],
    ['ü'.repeat(127), undefined],
    ['-rf *', undefined],
  ])('validates the new name %j', (name, problem) => {
    expect(nameProblem(name)).toBe(problem);
  });

  test('has no link if it is not valid UTF-8', () => {
    expect([isReachable('/workspace/a\uFFFD'), isReachable('/workspace/ä')]).toEqual([false, true]);
  });
});
