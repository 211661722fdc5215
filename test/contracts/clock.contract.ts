import { describe, expect, test } from '@jest/globals';
import type { WakingClock } from '#base/clock-and-ids.ts';

/** The contract of a clock. `pass` advances it by that many milliseconds. */
export function clockContract(
  name: string,
  clock: WakingClock,
  pass: (milliseconds: number) => Promise<void>,
): void {
  describe(`${name} as a clock`, () => {
    const later = (milliseconds: number) => new Date(clock.now().getTime() + milliseconds);

    test('returns a time that can be changed without changing the clock', () => {
      const before = clock.now();
      expect(Number.isNaN(before.getTime())).toBe(false);
      const reported = clock.now();
      reported.setFullYear(1999);
      expect(clock.now().getTime()).toBeGreaterThanOrEqual(before.getTime());
    });

    test('wakes once the time has come, and never before', async () => {
      const [soon, late] = [later(20), later(60)];
      const wakings = [soon, late, soon].map(async (at) => {
        await clock.until(at);
        expect(clock.now().getTime()).toBeGreaterThanOrEqual(at.getTime());
      });
      await pass(20);
      await pass(40);
      await Promise.all(wakings);
    });

    test('wakes at once for a time that has come already', async () => {
      await clock.until(clock.now());
      await clock.until(later(-86_400_000));
    });

    test('ends a wait beyond the longest timer as soon as the signal is aborted', async () => {
      const abort = new AbortController();
      const waking = clock.until(later(100 * 86_400_000), abort.signal);
      abort.abort();
      await waking;
      await clock.until(later(86_400_000), abort.signal);
    });
  });
}
