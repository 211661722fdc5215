import { expect, test } from '@jest/globals';
import { isEarlier } from '#adapters/kubernetes/client/kubernetes-object.ts';

test.each([
  ['9', '10', true],
  ['10', '9', false],
  ['18446744073709551614', '18446744073709551615', true],
  ['10', '10', false],
  ['', '10', true],
  ['10', '', false],
  ['010', '9', true],
  ['latest', 'newest', false],
])('%s was written before %s: %s', (one, other, before) => {
  expect(isEarlier(one, other)).toBe(before);
});
