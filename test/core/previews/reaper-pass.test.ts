import { expect, test } from '@jest/globals';
import { isFullPass } from '#core/previews/preview-lifetime.ts';

test.each([
  ['12:00:00.000', true],
  ['12:00:59.999', true],
  ['12:01:00.000', false],
  ['12:09:59.999', false],
  ['12:10:00.000', true],
  ['12:59:00.000', false],
])('runs a full pass at %s: %s', (time, full) => {
  expect(isFullPass(new Date(`2026-03-01T${time}Z`))).toBe(full);
});
