import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { checkTargetPort } from '#core/previews/preview-limits.ts';

const RANGE = { allowedPortMin: 3000, allowedPortMax: 9000 };

describe('target port', () => {
  test('accepts exactly the range', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer(), fc.double(), fc.integer({ min: 2_900, max: 9_100 })), (port) => {
        const isAllowed = Number.isInteger(port) && port >= 3_000 && port <= 9_000;
        if (isAllowed) expect(checkTargetPort(port, RANGE)).toBe(port);
        else expect(() => checkTargetPort(port, RANGE)).toThrow(/must be/);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    [3_000, undefined],
    [9_000, undefined],
    [2_999, 'port_out_of_range'],
    [9_001, 'port_out_of_range'],
    [1, 'port_out_of_range'],
    [65_535, 'port_out_of_range'],
    [0, 'invalid_port'],
    [65_536, 'invalid_port'],
    [-1, 'invalid_port'],
    [3_000.5, 'invalid_port'],
    [Number.NaN, 'invalid_port'],
    [Number.POSITIVE_INFINITY, 'invalid_port'],
  ])('maps %p to %p', (port, code) => {
    const validator = () => checkTargetPort(port, RANGE);
    if (code === undefined) expect(validator()).toBe(port);
    else expect(validator).toThrow(expect.objectContaining({ code }));
  });
});
