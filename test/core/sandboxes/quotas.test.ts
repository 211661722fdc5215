import { expect, test } from '@jest/globals';
import { limitsSandboxes, isWithin, quotaExceeded, quotaOf } from '#core/sandboxes/sandbox-quotas.ts';

const QUOTAS = {
  default: { sandboxes: 3 },
  users: {
    alice: { sandboxes: 9 },
    bob: { cpu: 2 },
    dave: { sandboxes: null },
    service: { sandboxes: 50 },
  },
};

test.each([
  ['alice', { sandboxes: 9 }],
  ['bob', { sandboxes: 3, cpu: 2 }],
  ['carol', { sandboxes: 3 }],
  ['dave', { sandboxes: null }],
  ['local', { sandboxes: 3 }],
  ['service', { sandboxes: 50 }],
  ['constructor', { sandboxes: 3 }],
])('allows %s %j', (user, quota) => {
  expect(quotaOf(QUOTAS, { user, org: 'acme' })).toEqual(quota);
});

test('limits the service key only if a quota names it', () => {
  const quota = quotaOf({ default: { sandboxes: 1 }, users: {} }, { user: 'service', org: 'service' });
  expect(quota).toEqual({});
  expect(limitsSandboxes(quota)).toBe(false);
});

const USED = { sandboxes: 2, cpu: 0.3, memoryMb: 600, diskMb: 50 };
const MORE = { sandboxes: 1, cpu: 0.1, memoryMb: 100, diskMb: 10 };

test.each([
  [{}, true],
  [{ sandboxes: null }, true],
  [{ sandboxes: 3 }, true],
  [{ sandboxes: 2 }, false],
  // In floating point, 0.1 + 0.3 exceeds 0.4.
  [{ cpu: 0.4 }, true],
  [{ cpu: 0.399 }, false],
  [{ memoryMb: 699, sandboxes: 9 }, false],
  [{ memoryMb: 700, diskMb: 59 }, false],
  [{ memoryMb: 700, diskMb: 60 }, true],
])('computes the room in a quota of %j: %s', (quota, room) => {
  expect(isWithin(quota, USED, MORE)).toBe(room);
});

test('allows more of one resource while another is over quota', () => {
  expect(isWithin({ diskMb: 10 }, USED, { ...MORE, diskMb: 0 })).toBe(true);
});

test('reports used, allowed and requested amounts when a quota is exceeded', () => {
  const error = quotaExceeded({ sandboxes: 2, cpu: 4, memoryMb: null }, USED, MORE);
  expect([error.code, error.status, error.message]).toEqual([
    'quota_exceeded',
    429,
    'You have 2 of the 2 sandboxes and 0.3 of the 4 CPUs of your quota, and this takes 1 sandbox and 0.1 CPUs more: stop or delete a sandbox, or let an administrator raise PORTHOLE_QUOTAS.',
  ]);
});
