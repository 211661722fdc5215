import { expect, test } from '@jest/globals';
import { array, assert, boolean, constantFrom, integer, nat, property, tuple } from 'fast-check';
import { FrameBoundary } from '#proxy/exchange/frame-boundary.ts';

function frame(opcode: number, length: number, isMasked: boolean, isLong: boolean): Buffer {
  const mask = isMasked ? 0x80 : 0;
  let head = [0x80 | opcode, mask | length];
  if (length > 125 || isLong) head = [0x80 | opcode, mask | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), Buffer.alloc((isMasked ? 4 : 0) + length, 0xff)]);
}

const anyFrame = tuple(constantFrom(0, 1, 2, 9, 10), nat(400), boolean(), boolean());

test('is between frames exactly where one has ended, however the bytes are cut', () => {
  assert(
    property(array(anyFrame, { minLength: 1, maxLength: 8 }), integer({ min: 1, max: 97 }), (all, step) => {
      const frames = all.map((each) => frame(...each));
      const bytes = Buffer.concat(frames);
      const ends = new Set<number>([0]);
      let end = 0;
      for (const each of frames) ends.add((end += each.length));
      const boundary = new FrameBoundary();
      for (let at = 0; at < bytes.length; at += step) {
        expect(boundary.isBetweenFrames).toBe(ends.has(at));
        boundary.push(bytes.subarray(at, at + step));
      }
      expect(boundary.isBetweenFrames).toBe(true);
    }),
  );
});

test('reads a length of 64 bits', () => {
  const boundary = new FrameBoundary();
  boundary.push(Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]));
  boundary.push(Buffer.alloc(65_535));
  expect(boundary.isBetweenFrames).toBe(false);
  boundary.push(Buffer.alloc(1));
  expect(boundary.isBetweenFrames).toBe(true);
});

test.each([
  ['after a Close', [0x88, 2, 3, 0xe8]],
  ['after a reserved opcode', [0x83, 0]],
  ['after bytes that are no frames', [0x47, 0x45, 0x54, 0x20]],
])('allows no more frames %s', (_, bytes) => {
  const boundary = new FrameBoundary();
  boundary.push(Buffer.from(bytes));
  expect(boundary.isBetweenFrames).toBe(false);
  boundary.push(Buffer.from([0x81, 0]));
  expect(boundary.isBetweenFrames).toBe(false);
});

/** Milliseconds for the fastest of some attempts: a busy machine slows down most of them. */
function fastest(attempt: () => void): number {
  const times = Array.from({ length: 15 }, () => {
    const began = performance.now();
    attempt();
    return performance.now() - began;
  });
  return Math.min(...times);
}

test('follows 64 KiB of frames of one byte within a millisecond', () => {
  const bytes = Buffer.alloc(65_535, Buffer.from([0x81, 1, 97]));
  const boundary = new FrameBoundary();
  expect(fastest(() => boundary.push(bytes))).toBeLessThan(1);
  expect(boundary.isBetweenFrames).toBe(true);
});
