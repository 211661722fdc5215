import { describe, expect, test } from '@jest/globals';
import { formatFault, jsonFault } from '#core/editor/tool-json.ts';

describe('ambiguous JSON', () => {
  test.each<[string, string, string]>([
    ['an integer beyond 2^53', '{"a":[1,{"b/c~d":9007199254740993}]}', '/a/1/b~1c~0d'],
    ['a negative one', '[-9007199254740993]', '/0'],
    ['a number that no double is', '{"a":1e400}', '/a'],
    ['half a character in a text', '{"a":"x\\ud83d"}', '/a'],
    ['half a character in a name', '{"b":1,"\\ud83d":1}', '/\ud83d'],
    ['the value itself', '"\\udc00"', ''],
    ['the first of several', '{"a":9007199254740993,"b":1e400}', '/a'],
  ])('is detected: %s', (_what, text, place) => {
    expect(jsonFault(JSON.parse(text))?.place).toBe(place);
  });

  test.each([
    '9007199254740991',
    '-9007199254740991',
    '6.02214076e23',
    '0.1',
    '1e-400',
    '"\\ud83d\\ude00"',
    '{"a":[null,true,{}]}',
  ])('does not include %s', (text) => {
    expect(jsonFault(JSON.parse(text))).toBeUndefined();
  });

  test('is detected at any depth, with a short message', () => {
    const deep: unknown = JSON.parse(`${'{"name":'.repeat(100_000)}1e400${'}'.repeat(100_000)}`);
    expect(jsonFault(deep)?.place).toHaveLength(200);
    expect(formatFault({ place: '/a', what: 'half' })).toBe('at "/a" half');
    expect(formatFault({ place: '', what: 'half' })).toBe('half');
  });
});
