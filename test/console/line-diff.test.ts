import { describe, expect, test } from '@jest/globals';
import { array, assert, constantFrom, property } from 'fast-check';
import { diffLines, type DiffLine, withContext } from '../../console/src/editor/line-diff.ts';

const signs = { same: ' ', added: '+', removed: '-' } as const;
const words = (lines: readonly (DiffLine | null)[] | undefined) =>
  lines?.map((line) => (line === null ? '…' : `${signs[line.kind]}${line.text}`));
const side = (lines: readonly DiffLine[], without: DiffLine['kind']) =>
  lines
    .filter(({ kind }) => kind !== without)
    .map(({ text }) => text)
    .join('\n');

describe('line diff', () => {
  test.each([
    ['nothing', 'a\nb', 'a\nb', [' a', ' b']],
    ['a line in between', 'a\nc', 'a\nb\nc', [' a', '+b', ' c']],
    ['a line that is gone', 'a\nb\nc', 'a\nc', [' a', '-b', ' c']],
    ['a line that is another', 'a\nb\nc', 'a\nx\nc', [' a', '-b', '+x', ' c']],
    ['a line that moved', 'a\nb\nc', 'c\na\nb', ['+c', ' a', ' b', '-c']],
    ['one of several alike', 'a\na\na', 'a\na', [' a', ' a', '-a']],
    ['an end of line at the end', 'a', 'a\n', [' a', '+']],
  ])('shows %s', (_, before, after, expected) => {
    expect(words(diffLines(before, after))).toEqual(expected);
  });

  test('transforms one text into the other with a longest common subsequence', () => {
    const text = array(constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((all) => all.join('\n'));
    assert(
      property(text, text, (before, after) => {
        const lines = diffLines(before, after) ?? [];
        expect(side(lines, 'added')).toBe(before);
        expect(side(lines, 'removed')).toBe(after);
        const shared = before.split('\n').some((line) => after.split('\n').includes(line));
        expect(lines.some(({ kind }) => kind === 'same')).toBe(shared);
      }),
    );
  });

  test('skips texts that would take too long to compare', () => {
    const many = (letter: string) => Array.from({ length: 2_100 }, (_, at) => `${letter}${at}`).join('\n');
    expect(diffLines(many('a'), many('b'))).toBeUndefined();
    expect(diffLines(many('a'), `${many('a')}\nmore`)?.at(-1)).toEqual({ kind: 'added', text: 'more' });
  });

  test('includes a few lines of context around each change', () => {
    const lines = diffLines('1\n2\n3\n4\n5\n6\n7\n8', '1\n2\n3\nx\n5\n6\n7\n8') ?? [];
    expect(words(withContext(lines, 1))).toEqual(['…', ' 3', '-4', '+x', ' 5', '…']);
    expect(withContext(diffLines('a', 'a') ?? [], 3)).toEqual([null]);
  });
});
