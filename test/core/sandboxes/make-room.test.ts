import { expect, test } from '@jest/globals';
import { unattended } from '#core/sandboxes/make-room.ts';
import { aSandbox, minutes, NOON } from '#test/contracts/records/samples.ts';

const running = (id: string, at: number, rest: Partial<ReturnType<typeof aSandbox>> = {}) =>
  aSandbox(id, { observed: 'running', lastActiveAt: minutes(at), ...rest });

test('stops those that are unused for five minutes, the longest unused first', () => {
  const all = [running('new', 6), running('old', 1), running('oldest', 0), running('five', 5)];
  const ids = unattended(all, new Set(), minutes(10)).map(({ id }) => id);
  expect(ids).toEqual(['oldest', 'old', 'five']);
});

test('stops none that has a live preview, a ttl, or is not running yet', () => {
  const all = [
    running('shown', 0),
    running('beats', 0, { ttlSeconds: 900, heartbeatAt: NOON }),
    running('begins', 0, { observed: 'creating' }),
  ];
  expect(unattended(all, new Set(['shown']), minutes(10))).toEqual([]);
});
