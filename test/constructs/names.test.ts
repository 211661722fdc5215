import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  formatTime,
  labelValue,
  parseTime,
  sandboxIdLabels,
  sandboxObjectName,
  timeSlot,
  timeSlots,
} from '#constructs/names.ts';

const LABEL_VALUE = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

describe('label values', () => {
  test.each([
    ['run_01JD5ZZ3', 'run_01JD5ZZ3'],
    ['a', 'a'],
    ['a'.repeat(63), 'a'.repeat(63)],
    ['a'.repeat(64), 'sha256-ffe054fe7ae0cb6dc65c3af9b61d5209f439851d'],
    ['run_', 'sha256-88bb20f717cb2de7bc5f3f47857faf15ae9f78b3'],
    ['', 'sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4'],
  ])('converts %j to %j', (text, value) => {
    expect(labelValue(text)).toBe(value);
  });

  test('are valid for any text, and differ for different texts', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), fc.string({ maxLength: 100 }), (one, other) => {
        expect(labelValue(one)).toMatch(LABEL_VALUE);
        expect(labelValue(one) === labelValue(other)).toBe(one === other);
      }),
      { numRuns: 1_000 },
    );
  });
});

test('gives the objects of a sandbox valid Kubernetes names and labels for ids of any length', () => {
  const id = fc.stringMatching(/^[a-z2-7]{1,128}$/);
  fc.assert(
    fc.property(id, (sandboxId) => {
      expect(sandboxObjectName(sandboxId)).toMatch(DNS_LABEL);
      for (const value of Object.values(sandboxIdLabels(sandboxId))) expect(value).toMatch(LABEL_VALUE);
    }),
    { numRuns: 1_000 },
  );
  expect(sandboxObjectName('abc')).toBe('sandbox-abc');
  expect(sandboxIdLabels('abc')).toEqual({ 'porthole.sandbox.users.io/sandbox': 'abc' });
});

describe('annotation timestamps', () => {
  test('survive a round trip', () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }), (time) => {
        expect(parseTime(formatTime(time))).toEqual(time);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each(['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.5Z', '2026-03-01T12:00:00.123456789Z'])(
    'parses %s',
    (text) => {
      expect(parseTime(text)?.toISOString()).toMatch(/^2026-03-01T12:00:00\.\d{3}Z$/);
    },
  );

  test.each([
    undefined,
    '',
    'tomorrow',
    '2026-03-01',
    '2026-03-01T12:00:00',
    '2026-03-01T12:00:00+01:00',
    '2026-13-01T12:00:00Z',
    '2026-03-01T25:00:00Z',
    ' 2026-03-01T12:00:00Z',
    '1772366400',
  ])('rejects %j', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });
});

describe('two-minute slots', () => {
  test('start at even minutes', () => {
    expect(timeSlot(new Date('1970-01-01T00:01:59.999Z'))).toBe('0');
    expect(timeSlot(new Date('1970-01-01T00:02:00Z'))).toBe('1');
  });

  test('contain every instant between two boundaries', () => {
    const [from, until] = [new Date('1970-01-01T00:01:00Z'), new Date('1970-01-01T00:06:00Z')];
    expect(timeSlots(from, until)).toEqual(['0', '1', '2', '3']);
    expect(timeSlots(until, from)).toEqual([]);
  });
});
