import { describe, expect, test } from '@jest/globals';
import type { SandboxRecord } from '#core/ports/records.ts';
import { ABANDONED_MS, judgeLife } from '#core/rules/lifecycle.ts';
import { minutes, NOON, sandbox } from '#test/contracts/records/samples.ts';

const LIMITS = { idle: 30 * 60_000, retention: 72 * 3_600_000 };
const hours = (count: number) => minutes(60 * count);
const judge = (rest: Partial<SandboxRecord>, now: Date, seenUntil?: Date) =>
  judgeLife(sandbox('box', { observed: 'running', ...rest }), now, LIMITS, seenUntil);

describe('a sandbox that runs', () => {
  test.each([
    ['just used', { lastActiveAt: minutes(0) }, minutes(0), 'keep'],
    ['quiet for exactly the limit', { lastActiveAt: NOON }, minutes(30), 'keep'],
    ['quiet for longer', { lastActiveAt: NOON }, new Date(minutes(30).getTime() + 1), 'stop'],
    ['used in the future of a clock that is behind', { lastActiveAt: minutes(60) }, minutes(0), 'keep'],
  ] as const)('%s', (_what, rest, now, verdict) => expect(judge(rest, now)).toBe(verdict));

  test('is in use while a preview of it lives', () => {
    expect(judge({ lastActiveAt: NOON }, minutes(50), minutes(60))).toBe('keep');
    expect(judge({ lastActiveAt: NOON }, minutes(91), minutes(60))).toBe('stop');
  });
});

describe('a sandbox that is stopped', () => {
  const stopped = { desired: 'stopped', observed: 'stopped', stoppedAt: NOON } as const;
  test.each([
    ['within its retention', hours(72), 'keep'],
    ['beyond it', new Date(hours(72).getTime() + 1), 'expire'],
  ] as const)('%s', (_what, now, verdict) => expect(judge(stopped, now)).toBe(verdict));

  test('only by wish is stopped in fact', () => {
    expect(judge({ ...stopped, observed: 'running' }, minutes(1))).toBe('finish_stop');
  });
});

test.each([
  ['wanted gone and seen to be there', { desired: 'destroyed' }, 'finish_destroy'],
  ['wanted gone and gone', { desired: 'destroyed', observed: 'destroyed' }, 'keep'],
] as const)('a sandbox %s', (_what, rest, verdict) => expect(judge(rest, hours(1_000))).toBe(verdict));

test('a creation is left alone until it must have been cut off', () => {
  const creating = { observed: 'creating' } as const;
  expect(judge(creating, new Date(NOON.getTime() + ABANDONED_MS))).toBe('keep');
  expect(judge(creating, new Date(NOON.getTime() + ABANDONED_MS + 1))).toBe('finish_destroy');
});
