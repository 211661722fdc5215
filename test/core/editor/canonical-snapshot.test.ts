import { describe, expect, test } from '@jest/globals';
import { measureSnapshot } from '#core/editor/tool-snapshots.ts';
import { isTooDeep } from '#core/editor/tool-json.ts';

const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

describe('canonical snapshot size', () => {
  test.each<[string, string, number]>([
    ['white space does not count', '{ "a" :\n [ 1 , 2 ] }', 11],
    ['nor does how a number is written', '{"a":1.0e2}', 9],
    ['nor do escapes that need not be', '{"a":"\\u00e9\\/"}', 11],
    ['characters count as bytes of UTF-8', '{"a":"\u{1f6f3}"}', 12],
  ])('measures %s', (_, text, bytes) => {
    expect(measureSnapshot(JSON.parse(text), 100)).toBe(bytes);
  });

  test('ignores the order of fields', () => {
    expect(measureSnapshot({ b: 1, a: 2 }, 100)).toBe(measureSnapshot({ a: 2, b: 1 }, 100));
  });

  test('accepts the exact limit and rejects one byte more', () => {
    expect(measureSnapshot({ a: 'xxx' }, 11)).toBe(11);
    expect(() => measureSnapshot({ a: 'xxxx' }, 11)).toThrow(
      'The snapshot has 12 bytes as canonical JSON; the limit is 11 bytes: shorten source_code or the schemas.',
    );
  });

  test('rejects nesting beyond the limit, at any depth', () => {
    expect(isTooDeep(nested(100))).toBe(false);
    expect(isTooDeep(nested(101))).toBe(true);
    expect(() => measureSnapshot(nested(500_000), 9_000_000)).toThrow('nests deeper than 100 levels');
  });
});
