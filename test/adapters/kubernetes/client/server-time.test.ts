import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { createServerTime } from '#adapters/kubernetes/client/exchange.ts';

const NOON = Date.parse('2026-03-01T12:00:00.500Z');
/** A `Date` header: whole seconds. */
const header = (time: number) => new Date(time).toUTCString();

test('clocks that agree within two seconds are taken for one', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: -2_000, max: 2_000 }), fc.integer({ min: 0, max: 500 }))),
      (answers) => {
        const time = createServerTime();
        for (const [ahead, took] of answers) time.observe(header(NOON + ahead + took), NOON, NOON + took);
        expect(time.ahead()).toBe(0);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('learns a clock difference of minutes to the second from one answer, and then keeps it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -600_000, max: 600_000 }).filter((ahead) => Math.abs(ahead) > 5_000),
      fc.array(fc.tuple(fc.integer({ min: 0, max: 3_600_000 }), fc.integer({ min: 0, max: 900 }))),
      (ahead, later) => {
        const time = createServerTime();
        time.observe(header(NOON + ahead), NOON, NOON);
        const learnt = time.ahead();
        expect(Math.abs(learnt - ahead)).toBeLessThanOrEqual(1_000);
        for (const [after, took] of later) {
          const sent = NOON + after;
          time.observe(header(sent + ahead + took), sent, sent + took);
        }
        expect(time.ahead()).toBe(learnt);
      },
    ),
    { numRuns: 1_000 },
  );
});

test.each([undefined, '', 'yesterday'])('learns nothing from a Date of %j', (date) => {
  const time = createServerTime();
  time.observe(date, NOON, NOON);
  expect(time.ahead()).toBe(0);
});
