import { describe, expect, test } from '@jest/globals';
import { SENTINEL, TarWords } from '#core/rules/archive/tar-words.ts';

function heard(...pieces: string[]): TarWords {
  const words = new TarWords();
  for (const piece of pieces) words.take(piece);
  return words;
}

describe('what tar says', () => {
  test('of what may not be read is told in a file, however it was cut', () => {
    const words = heard(
      'tar: ./a: Warning: Cannot open: Permis',
      'sion denied\ntar: ./s\\303\\251\\n: Warning: Cannot stat: Permission denied\n',
    );
    const { name, content } = words.note() ?? {};
    expect([name, content?.toString(), words.leftOut, words.fault]).toEqual([
      './.porthole-unreadable-files',
      'Not in this archive, because the user of the sandbox may not read it:\n./a\n./sé\\n\n',
      2,
      undefined,
    ]);
  });

  test('of what has just gone, or changes, is nothing to tell', () => {
    const words = heard(
      'tar: ./a: Warning: Cannot stat: No such file or directory\ntar: ./b: file changed as we read it\n',
    );
    expect([words.note(), words.leftOut, words.fault]).toEqual([undefined, 0, undefined]);
  });

  test.each([
    'tar: ./a: Warning: Read error at byte 0, while reading 512 bytes: Input/output error',
    `tar: ${SENTINEL}: Warning: Cannot stat: No such file or directory`,
  ])('makes the archive a part: %s', (line) => {
    expect(heard(`${line}\n`).fault).toBe(line);
  });

  test('of more than a thousand is counted', () => {
    const words = heard(
      ...Array.from({ length: 1_003 }, (_, n) => `tar: ./${n}: Warning: Cannot open: Permission denied\n`),
    );
    const lines = words.note()?.content.toString().trim().split('\n');
    expect([lines?.length, lines?.at(-1), words.leftOut]).toEqual([1_002, 'and 3 more', 1_003]);
  });
});
