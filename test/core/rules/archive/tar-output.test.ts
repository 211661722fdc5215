import { describe, expect, test } from '@jest/globals';
import { SENTINEL, TarOutput } from '#core/rules/archive/tar-output.ts';

function heard(...pieces: string[]): TarOutput {
  const words = new TarOutput();
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

  test('names what busybox may not read, and takes its exit code of 1 for that alone', () => {
    const denied = "tar: ./shut: Permission denied\ntar: can't open './f': Permission denied\n";
    const delayed = 'tar: error exit delayed from previous errors\n';
    const words = heard(denied, delayed);
    expect(words.note()?.content.toString()).toMatch(/:\n\.\/shut\n\.\/f\n$/);
    expect([words.isWhole, words.leftOut, words.fault]).toEqual([true, 2, undefined]);
    expect(heard(denied).isWhole).toBe(false);
    expect(heard(denied, 'tar: short read\n', delayed).isWhole).toBe(false);
  });

  test('goes on behind a path that is too long', () => {
    const words = heard(`tar: ./${'d/'.repeat(2_500)}: Warning: Cannot stat: File name too long\n`);
    expect([words.leftOut, words.fault]).toEqual([1, undefined]);
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
