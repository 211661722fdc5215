import { describe, expect, test } from '@jest/globals';
import { readGivenKey } from '#handlers/e2b/given-key.ts';

const toHex = (key: string) => `e2b_${Buffer.from(key).toString('hex')}`;

describe('reading the key of an E2B client', () => {
  test('returns a key of another form as it is', () => {
    expect(readGivenKey('ph_0123abcd')).toBe('ph_0123abcd');
    expect(readGivenKey('')).toBe('');
  });

  test('reads a key from its hexadecimal digits', () => {
    expect(readGivenKey(toHex('ph_Key-of_alice.1'))).toBe('ph_Key-of_alice.1');
  });

  test.each([
    ['bytes that are no text', `e2b_${'0'.repeat(40)}`],
    ['an odd number of digits', 'e2b_616'],
    ['capital digits', 'e2b_6A6B'],
    ['text with a space', toHex('a b')],
    ['text with a line break', toHex('a\nb')],
    ['no digits', 'e2b_'],
    ['letters', 'e2b_alice'],
  ])('takes %s as the key itself', (_what, key) => {
    expect(readGivenKey(key)).toBe(key);
  });
});
