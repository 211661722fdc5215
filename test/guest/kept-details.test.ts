import { expect, test } from '@jest/globals';
import { KeptDetails, OutputExcerpt } from '#guest/kept-details.ts';
import { keptDetail } from '#protocol/guest/details-protocol.ts';
import { OUTPUT_KEPT } from '#protocol/guest/http-protocol.ts';

const { first, last } = OUTPUT_KEPT;

function excerptOf(text: string, piece: number) {
  const excerpt = new OutputExcerpt();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += piece) {
    // The guest reuses its buffer.
    const chunk = Buffer.from(bytes.subarray(at, at + piece));
    excerpt.add(chunk);
    chunk.fill(0);
  }
  return excerpt.output;
}

test.each([1, 1_000, last, 65_536, 1_000_000])(
  'keeps the beginning and the end of an output in pieces of %i bytes',
  (piece) => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `${index}\n`).join('');
    expect(excerptOf(lines, piece)).toEqual({
      first: lines.slice(0, first),
      last: lines.slice(-last),
      omitted_bytes: lines.length - first - last,
    });
    const short = lines.slice(0, first + last);
    expect(excerptOf(short, piece)).toEqual({ first: short, last: '', omitted_bytes: 0 });
  },
);

test('leaves out characters that a bound cuts in two', () => {
  const { first: beginning, last: end } = excerptOf('€'.repeat(50_000), 4_096);
  expect([beginning, end].map((text) => text.replaceAll('€', ''))).toEqual(['', '']);
  expect(() => keptDetail.parse({ output: excerptOf('\u{1F600}'.repeat(50_000), 999) })).not.toThrow();
});

test('drops the oldest details beyond 4 MiB, and beyond 1,000', () => {
  const details = new KeptDetails();
  const change = { change: { before: 'b'.repeat(100_000), after: 'a'.repeat(31_072) } };
  for (let id = 0; id < 40; id += 1) details.keep(String(id), change);
  expect([details.get('0'), details.get('7'), details.get('8')]).toEqual([undefined, undefined, change]);
  const small = { omitted: 'not_text' } as const;
  for (let id = 0; id < 1_001; id += 1) details.keep(`small ${id}`, small);
  expect([details.get('39'), details.get('small 0'), details.get('small 1')]).toEqual([
    undefined,
    undefined,
    small,
  ]);
});
