import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { ReplayRing } from '#core/runs/event-log.ts';

describe('replay ring', () => {
  test('starts empty', () => {
    expect(new ReplayRing(4).contents().length).toBe(0);
  });

  test.each<[string, string[], string]>([
    ['less than it holds', ['ab'], 'ab'],
    ['exactly what it holds', ['ab', 'cd'], 'abcd'],
    ['one byte more', ['abcd', 'e'], 'bcde'],
    ['a chunk over its seam', ['abc', 'def'], 'cdef'],
    ['a chunk larger than itself', ['a', 'bcdefghij'], 'ghij'],
    ['a chunk just as large', ['a', 'bcde'], 'bcde'],
    ['nothing', ['ab', '', 'c'], 'abc'],
  ])('keeps the end of %s', (_name, chunks, kept) => {
    const ring = new ReplayRing(4);
    for (const chunk of chunks) ring.push(Buffer.from(chunk));
    expect(ring.contents().toString()).toBe(kept);
  });

  test('keeps the last bytes of any stream, however it is split', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), chunks, (capacity, given) => {
        const ring = new ReplayRing(capacity);
        for (const chunk of given) ring.push(chunk);
        const whole = Buffer.concat(given);
        expect(ring.contents().equals(whole.subarray(Math.max(0, whole.length - capacity)))).toBe(true);
      }),
    );
  });

  test('returns bytes that later writes do not change', () => {
    const ring = new ReplayRing(4);
    ring.push(Buffer.from('abcd'));
    const before = ring.contents();
    ring.push(Buffer.from('xy'));
    expect(before.toString()).toBe('abcd');
  });
});
