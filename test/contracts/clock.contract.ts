import { describe, expect, test } from '@jest/globals';
import type { Clock } from '#core/ports/clock.ts';

/** What every Clock must do. */
export function clockContract(name: string, clock: Clock): void {
  describe(`${name} as a clock`, () => {
    test('tells a time, and nobody who changes what it told changes the clock', () => {
      const before = clock.now();
      expect(Number.isNaN(before.getTime())).toBe(false);
      const told = clock.now();
      told.setFullYear(1999);
      expect(clock.now().getTime()).toBeGreaterThanOrEqual(before.getTime());
    });
  });
}
