import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { decodeText, TextPieces } from '../../client/streams/decode-text.ts';

const text = fc
  .array(fc.constantFrom('a', '\n', 'é', '€', '漢', '😀', '\uFEFF'), { maxLength: 30 })
  .map((parts) => parts.join(''));
const bytesOf = (value: string) => new TextEncoder().encode(value);

describe('text of the client', () => {
  test('keeps a byte order mark', () => {
    expect(decodeText(bytesOf('\uFEFFa'))).toBe('\uFEFFa');
    expect(new TextPieces().push(bytesOf('\uFEFFa'))).toBe('\uFEFFa');
  });

  test('ends before a character that a limit divides', () => {
    const property = fc.property(text, fc.nat(100), (whole, limit) => {
      const bytes = bytesOf(whole);
      const cut = decodeText(bytes.subarray(0, limit), limit < bytes.length);
      expect(whole.startsWith(cut)).toBe(true);
      if (limit >= bytes.length) expect(cut).toBe(whole);
      else expect(limit - bytesOf(cut).length).toBeLessThan(4);
    });
    fc.assert(property, { seed: 1 });
  });

  test('joins characters that pieces divide', () => {
    const property = fc.property(text, fc.integer({ min: 1, max: 7 }), (whole, size) => {
      const pieces = new TextPieces();
      const bytes = bytesOf(whole);
      let read = '';
      for (let at = 0; at < bytes.length; at += size) read += pieces.push(bytes.subarray(at, at + size));
      expect(read + pieces.end()).toBe(whole);
    });
    fc.assert(property, { seed: 1 });
  });

  test('leaves out what is left of the characters beside a gap', () => {
    const pieces = new TextPieces();
    const bytes = bytesOf('a€b€c');
    const before = pieces.push(bytes.subarray(0, 3));
    pieces.skip();
    const after = pieces.push(bytes.subarray(6, 7)) + pieces.push(bytes.subarray(7));
    expect([before, after, pieces.end()]).toEqual(['a', 'c', '']);
  });

  test('shows that a stream ended within a character', () => {
    const pieces = new TextPieces();
    expect(pieces.push(bytesOf('a€').subarray(0, 2)) + pieces.end()).toBe('a\uFFFD');
    expect(decodeText(bytesOf('a€').subarray(0, 2))).toBe('a\uFFFD');
  });
});
