import { expect, test } from '@jest/globals';
import { systemClock } from '#adapters/system/system-clock.ts';
import { clockContract } from '#test/contracts/clock.contract.ts';
import { pinnedClock } from './pinned-clock.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');

clockContract('the system clock', systemClock);
clockContract('a pinned clock', pinnedClock(NOON));

test('a pinned clock stands still until it is moved', () => {
  const clock = pinnedClock(NOON);
  expect(clock.now()).toEqual(NOON);
  clock.advance(1_500);
  expect(clock.now().toISOString()).toBe('2026-03-01T12:00:01.500Z');
  clock.advance(-1_500);
  expect(clock.now()).toEqual(NOON);
});
