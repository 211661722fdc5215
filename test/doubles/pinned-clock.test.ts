import { expect, jest, test } from '@jest/globals';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { clockContract } from '#test/contracts/clock.contract.ts';
import { pinnedClock } from './pinned-clock.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');

clockContract('the system clock', systemClock, async () => undefined);
const pinned = pinnedClock(NOON);
clockContract('a pinned clock', pinned, async (milliseconds) => pinned.advance(milliseconds));

test('ends a wait in its time where the clock is set back meanwhile', async () => {
  const began = performance.now();
  const over = systemClock.until(new Date(Date.now() + 50));
  const now = jest.spyOn(Date, 'now').mockImplementation(() => NOON.getTime() - performance.timeOrigin);
  await over;
  now.mockRestore();
  expect(performance.now() - began).toBeLessThan(10_000);
});

test('does not move a pinned clock by itself', () => {
  const clock = pinnedClock(NOON);
  expect(clock.now()).toEqual(NOON);
  clock.advance(1_500);
  expect(clock.now().toISOString()).toBe('2026-03-01T12:00:01.500Z');
  clock.advance(-1_500);
  expect(clock.now()).toEqual(NOON);
});

test('wakes the waits that are due on a pinned clock, and no others', async () => {
  const clock = pinnedClock(NOON);
  const woken: string[] = [];
  const sleep = async (name: string, seconds: number) => {
    await clock.until(new Date(NOON.getTime() + seconds * 1_000));
    woken.push(name);
  };
  const short = sleep('short', 1);
  const long = sleep('long', 2);
  clock.advance(1_000);
  await short;
  expect([woken, clock.sleepers]).toEqual([['short'], 1]);
  clock.advance(1_000);
  await long;
  expect([woken, clock.sleepers]).toEqual([['short', 'long'], 0]);
});
