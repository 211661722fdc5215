import { expect, test } from '@jest/globals';
import { fillsDisk, isDue, whyOverLimit } from '#adapters/local/disk-limit.ts';

const MIB = 2 ** 20;
const last = { bytes: 10 * MIB, free: 1_000 * MIB, at: 0 };
const now = { free: 1_000 * MIB, at: 2_000, isLow: false };

test('measures a sandbox again once it may have reached its limit, and once in a minute', () => {
  expect(isDue(undefined, 100 * MIB, now)).toBe(true);
  expect(isDue(last, 100 * MIB, now)).toBe(false);
  expect(isDue(last, 100 * MIB, { ...now, free: 980 * MIB })).toBe(false);
  expect(isDue(last, 100 * MIB, { ...now, free: 950 * MIB })).toBe(true);
  expect(isDue(last, 100 * MIB, { ...now, at: 60_000 })).toBe(true);
  expect(isDue(last, 100 * MIB, { ...now, isLow: true })).toBe(true);
});

test('stops a sandbox above its limit, or above what it is allowed for now', () => {
  expect(whyOverLimit(100 * MIB, 100 * MIB, 0)).toBeUndefined();
  expect(whyOverLimit(150 * MIB, 100 * MIB, 154 * MIB)).toBeUndefined();
  expect(whyOverLimit(155 * MIB, 100 * MIB, 154 * MIB)).toBe(
    'its files take 155 MiB, and its disk has 100 MiB (disk_mb)',
  );
});

test('finds the sandbox that grew most, and none where all stay the same', () => {
  const idle = { id: 'idle', bytes: 900 * MIB, grown: 0 };
  const busy = { id: 'busy', bytes: 50 * MIB, grown: 40 * MIB };
  expect(fillsDisk([idle, busy])).toMatchObject({ id: 'busy', why: expect.stringMatching(/by 40 MiB$/) });
  expect(fillsDisk([idle])).toBeUndefined();
  expect(fillsDisk([])).toBeUndefined();
});
