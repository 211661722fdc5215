import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { SandboxActivity } from '#core/sandboxes/sandbox-activity.ts';
import { lifecycleDecision } from '#core/sandboxes/sandbox-lifecycle.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { aSandbox } from '#test/contracts/records/samples.ts';

/** The shortest limit that a host accepts. */
const LIMITS = { idle: 60_000, retention: 3_600_000 };

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('keeps every sandbox in use from being idle, with the shortest idle limit', async () => {
  const running = (id: string) => ({ ...aSandbox(id, { observed: 'running' }), lastActiveAt: new Date() });
  const stored = new Map<string, SandboxRecord>(['a', 'b', 'c'].map((id) => [id, running(id)]));
  const sandboxes = {
    get: async (id: string) => stored.get(id),
    touch: async (sandbox: SandboxRecord, lastActiveAt: Date) =>
      void stored.set(sandbox.id, { ...sandbox, lastActiveAt }),
  };
  const records = { sandboxes } as unknown as ConstructorParameters<typeof SandboxActivity>[0]['records'];
  const activity = new SandboxActivity({ records, clock: { now: () => new Date() } });
  const ends = [activity.begin('a')];
  await jest.advanceTimersByTimeAsync(10_000);
  ends.push(activity.begin('b'));
  for (let second = 0; second < 300; second += 1) {
    await jest.advanceTimersByTimeAsync(1_000);
    for (const id of ['a', 'b']) {
      const sandbox = stored.get(id) as SandboxRecord;
      expect([id, second, lifecycleDecision(sandbox, new Date(), LIMITS)]).toEqual([id, second, 'keep']);
    }
  }
  for (const end of ends) end();
  await jest.advanceTimersByTimeAsync(90_000);
  for (const sandbox of stored.values()) {
    expect(lifecycleDecision(sandbox, new Date(), LIMITS)).toBe('stop');
  }
  activity.close();
});
