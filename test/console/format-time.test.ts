import { describe, expect, test } from '@jest/globals';
import { formatMebibytes, formatSize, timeAgo, timeLeft } from '../../console/src/live/clock.ts';

describe('console formatters', () => {
  test.each([
    [300_000, '5:00'],
    [299_001, '5:00'],
    [59_000, '0:59'],
    [1, '0:01'],
    [0, '0:00'],
    [-5_000, '0:00'],
    [3_600_000, '1 h 00 min'],
    [28_740_000, '7 h 59 min'],
  ])('show a remaining time of %d ms as %s', (milliseconds, words) => {
    expect(timeLeft(milliseconds)).toBe(words);
  });

  test.each([
    [-1, 'just now'],
    [59_999, 'just now'],
    [60_000, '1 min ago'],
    [3_600_000, '1 h ago'],
    [172_800_000, '2 d ago'],
  ])('show an age of %d ms as %s', (milliseconds, words) => {
    expect(timeAgo(milliseconds)).toBe(words);
  });

  test.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_536, '1.5 KiB'],
    [1_048_576, '1.0 MiB'],
    [5_368_709_120, '5.0 GiB'],
  ])('show %d bytes as %s', (bytes, words) => {
    expect(formatSize(bytes)).toBe(words);
  });

  test.each([
    [512, '512 MiB'],
    [1_024, '1 GiB'],
    [1_536, '1.5 GiB'],
    [16_384, '16 GiB'],
  ])('show %d MiB as %s', (amount, words) => {
    expect(formatMebibytes(amount)).toBe(words);
  });
});
