import { describe, expect, test } from '@jest/globals';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { ABANDONED_MS, expiryOf, lifecycleDecision } from '#core/sandboxes/sandbox-lifecycle.ts';
import { minutes, NOON, aSandbox } from '#test/contracts/records/samples.ts';

const LIMITS = { idle: 30 * 60_000, retention: 72 * 3_600_000 };
const hours = (count: number) => minutes(60 * count);
const validator = (rest: Partial<SandboxRecord>, now: Date, seenUntil?: Date) =>
  lifecycleDecision(aSandbox('box', { observed: 'running', ...rest }), now, LIMITS, seenUntil);

describe('a running sandbox', () => {
  test.each([
    ['just used', { lastActiveAt: minutes(0) }, minutes(0), 'keep'],
    ['quiet for exactly the limit', { lastActiveAt: NOON }, minutes(30), 'keep'],
    ['quiet for longer', { lastActiveAt: NOON }, new Date(minutes(30).getTime() + 1), 'stop'],
    ['used in the future of a clock that is behind', { lastActiveAt: minutes(60) }, minutes(0), 'keep'],
  ] as const)('decides: %s', (_what, rest, now, outcome) => expect(validator(rest, now)).toBe(outcome));

  test('is in use while it has a live preview', () => {
    expect(validator({ lastActiveAt: NOON }, minutes(50), minutes(60))).toBe('keep');
    expect(validator({ lastActiveAt: NOON }, minutes(91), minutes(60))).toBe('stop');
  });
});

describe('a sandbox with a ttl', () => {
  const beaten = { ttlSeconds: 90, heartbeatAt: NOON } as const;
  const seconds = (count: number) => new Date(NOON.getTime() + 1_000 * count);
  test.each([
    ['up to the end of it', {}, seconds(90), 'keep'],
    [
      'without a heartbeat within it, whatever else is done',
      { lastActiveAt: seconds(90) },
      seconds(91),
      'lapse',
    ],
    ['idle as well', {}, minutes(31), 'stop'],
    ['while it comes back', { observed: 'stopped' }, seconds(91), 'keep'],
    ['while it is made', { observed: 'creating' }, seconds(91), 'keep'],
    ['stopped', { desired: 'stopped', observed: 'stopped', stoppedAt: NOON }, seconds(91), 'keep'],
  ] as const)('decides: %s', (_what, rest, now, outcome) =>
    expect(validator({ ...beaten, ...rest }, now)).toBe(outcome),
  );

  test('ends one ttl after its last heartbeat, while it should run', () => {
    expect(expiryOf(aSandbox('box', beaten))).toEqual(seconds(90));
    expect(expiryOf(aSandbox('box', { ...beaten, desired: 'stopped' }))).toBeUndefined();
    expect(expiryOf(aSandbox('box'))).toBeUndefined();
  });
});

describe('a sandbox with a time-out', () => {
  const limited = { timeoutAt: minutes(1) } as const;
  const later = new Date(minutes(1).getTime() + 1);
  const stopped = { desired: 'stopped', observed: 'stopped', stoppedAt: NOON } as const;
  test.each([
    ['before it', {}, minutes(1), 'keep'],
    ['after it, whatever is done', { lastActiveAt: later }, later, 'time_out'],
    ['to be deleted', { onTimeout: 'delete' }, later, 'time_out'],
    ['stopped, to be deleted', { ...stopped, onTimeout: 'delete' }, later, 'time_out'],
    ['stopped, to be stopped', stopped, later, 'keep'],
    ['while it is made', { observed: 'creating' }, later, 'keep'],
    ['wanted gone', { desired: 'destroyed' }, later, 'finish_destroy'],
  ] as const)('decides: %s', (_what, rest, now, outcome) =>
    expect(validator({ ...limited, ...rest }, now)).toBe(outcome),
  );

  test('in use by a preview ends all the same', () => {
    expect(validator(limited, later, minutes(60))).toBe('time_out');
  });
});

describe('a stopped sandbox', () => {
  const stopped = { desired: 'stopped', observed: 'stopped', stoppedAt: NOON } as const;
  test.each([
    ['within its retention', hours(72), 'keep'],
    ['beyond it', new Date(hours(72).getTime() + 1), 'expire'],
  ] as const)('decides: %s', (_what, now, outcome) => expect(validator(stopped, now)).toBe(outcome));

  test('stops the sandbox if only its desired state is stopped', () => {
    expect(validator({ ...stopped, observed: 'running' }, minutes(1))).toBe('finish_stop');
  });
});

test.each([
  ['wanted gone and seen to be there', { desired: 'destroyed' }, 'finish_destroy'],
  ['wanted gone and gone', { desired: 'destroyed', observed: 'destroyed' }, 'keep'],
] as const)('describes a sandbox %s', (_what, rest, outcome) =>
  expect(validator(rest, hours(1_000))).toBe(outcome),
);

test('ignores a creation until it must have been interrupted', () => {
  const creating = { observed: 'creating' } as const;
  expect(validator(creating, new Date(NOON.getTime() + ABANDONED_MS))).toBe('keep');
  expect(validator(creating, new Date(NOON.getTime() + ABANDONED_MS + 1))).toBe('finish_destroy');
});
