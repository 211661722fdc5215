import { expect, test } from '@jest/globals';
import { firstKeptDay, usageSince } from '#core/usage/usage-days.ts';
import { NO_USAGE } from '#core/usage/usage-store.ts';

const at = (text: string) => new Date(`2026-03-${text}Z`);
const NEW = at('01T00:00:00');
const of = (last: string | undefined, read: string, vcpuS: number, before = 0) =>
  usageSince(
    last === undefined ? undefined : { at: at(last), counted: { ...NO_USAGE, vcpuS: before } },
    { startedAt: NEW, at: at(read), counted: { vcpuS } },
    NEW,
  ).map(({ day, amounts, estimated }) => [day, Math.round(amounts.vcpuS * 1_000) / 1_000, estimated]);

test('is the difference to the last reading', () => {
  expect(of(undefined, '01T00:01:00', 7)).toEqual([['2026-03-01', 7, false]]);
  expect(of('01T00:01:00', '01T00:02:00', 9, 7)).toEqual([['2026-03-01', 2, false]]);
});

test('is nothing where the counter did not move, or the reading is older', () => {
  expect(of('01T00:01:00', '01T00:01:00', 7, 7)).toEqual([['2026-03-01', 0, false]]);
  expect(of('01T00:02:00', '01T00:01:00', 7, 7)).toEqual([]);
  expect(of('01T00:02:00', '01T00:01:00', 6, 7)).toEqual([]);
});

test('goes on at once where the clock was set back', () => {
  expect(of('09T00:01:00', '02T00:02:00', 9, 7)).toEqual([['2026-03-02', 2, false]]);
});

test('never is negative', () => {
  expect(of('01T00:01:00', '01T00:02:00', 1, 7)).toEqual([['2026-03-01', 0, false]]);
});

test('is split at midnight, as an estimate after more than ten minutes', () => {
  expect(of('01T23:59:30', '02T00:00:30', 4, 2)).toEqual([
    ['2026-03-01', 1, false],
    ['2026-03-02', 1, false],
  ]);
  expect(of('01T12:00:00', '03T12:00:00', 8)).toEqual([
    ['2026-03-01', 2, true],
    ['2026-03-02', 4, true],
    ['2026-03-03', 2, true],
  ]);
});

test('is kept for 13 months', () => {
  expect(firstKeptDay(at('15T00:00:00'))).toBe('2025-02-01');
  expect(firstKeptDay(new Date('2026-01-31T00:00:00Z'))).toBe('2024-12-01');
});
