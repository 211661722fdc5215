import { expect, test } from '@jest/globals';
import { cookieOf } from '#handlers/auth/session-cookie.ts';

test.each<[string, string | undefined]>([
  ['a=1; s=good; b=2', 'good'],
  ['s=good', 'good'],
  ['a=1;s=good;b=2', 'good'],
  ['a=1;\ts=good \t', 'good'],
  ['s=', undefined],
  ['s', undefined],
  ['s =good', undefined],
  ['S=good', undefined],
  ['xs=good', undefined],
  ['s=one; s=two', undefined],
  ['s=one; s=', undefined],
  // Any host of the site may set these: browsers treat them as other names.
  ['\u00a0s=put there', undefined],
  ['\u0085s=put there', undefined],
  ['\ufeffs=put there', undefined],
  ['\u00a0s=put there; s=good', 'good'],
  ['', undefined],
])('of %j it is %j', (header, value) => {
  expect(cookieOf(header, 's')).toBe(value);
});

test('finds no session without a Cookie header', () => {
  expect(cookieOf(undefined, 's')).toBeUndefined();
});
