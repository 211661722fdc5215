import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import type { UsageFilter, UsageGroup, UsageReading } from '#core/usage/usage-store.ts';
import { ALICE, BOB, aRun, aSandbox, minutes, NOON } from './samples.ts';

const MARCH: UsageFilter = { from: '2026-03-01', to: '2026-03-31' };
const ALL = { offset: 0, limit: 1_000 };

/** A reading of a guest that has started at noon. */
function read(sandboxId: string, after: number, vcpuS: number, rest: Partial<UsageReading> = {}) {
  const reading: UsageReading = {
    sandboxId,
    source: 'guest:1',
    startedAt: NOON,
    at: minutes(after),
    counted: { vcpuS },
    isLast: false,
    ...rest,
  };
  return reading;
}

/** The contract of the usage, `peer` being a second instance on the same database. */
export function usageContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('usage', () => {
    let records: Records;
    let peer: Records;
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.sandboxes.create(aSandbox('box'));
      await records.sandboxes.create(aSandbox('bobs', { owner: BOB }));
    });
    const sums = async (by: readonly UsageGroup[], filter = MARCH, overdue = NOON) =>
      (await peer.usage.sum(by, filter, ALL, overdue)).map(({ group, vcpuS, estimated }) => ({
        ...group,
        vcpuS: Math.round(vcpuS * 1_000) / 1_000,
        estimated,
      }));

    test('adds what a counter has counted since its last reading', async () => {
      await records.usage.add([read('box', 1, 10)]);
      await peer.usage.add([read('box', 2, 25), read('bobs', 2, 4)]);
      expect(await sums(['sandbox'])).toEqual([
        { sandbox: 'bobs', vcpuS: 4, estimated: false },
        { sandbox: 'box', vcpuS: 25, estimated: false },
      ]);
    });

    test('adds nothing for a reading that is added again, or is older', async () => {
      await records.usage.add([read('box', 1, 10), read('box', 2, 25)]);
      await peer.usage.add([read('box', 2, 25)]);
      await peer.usage.add([read('box', 1, 10)]);
      await records.usage.add([read('box', 3, 26)]);
      expect(await sums(['sandbox'])).toEqual([{ sandbox: 'box', vcpuS: 26, estimated: false }]);
    });

    test('counts once where two hosts read the same counters at once', async () => {
      const readings = Array.from({ length: 40 }, (_, at) => read('box', at, at * 3));
      await Promise.all(
        [records, peer].flatMap((each) => readings.map((reading) => each.usage.add([reading]))),
      );
      expect(await sums(['sandbox'])).toEqual([{ sandbox: 'box', vcpuS: 117, estimated: false }]);
    });

    test('adds up counters that begin again with another name', async () => {
      await records.usage.add([read('box', 1, 10, { isLast: true })]);
      await records.usage.add([read('box', 5, 3, { source: 'guest:2', startedAt: minutes(4) })]);
      await records.usage.add([read('box', 6, 4, { source: 'guest:2', startedAt: minutes(4) })]);
      expect(await sums(['sandbox'])).toEqual([{ sandbox: 'box', vcpuS: 14, estimated: false }]);
    });

    test('groups by owner, run and day', async () => {
      await records.runs.create(aRun('run_1', { sandboxId: 'box' }));
      await records.usage.add([read('box', 1, 10), read('bobs', 1, 1)]);
      const tomorrow = 24 * 60;
      await records.usage.add([read('box', tomorrow - 1, 10), read('box', tomorrow + 1, 20)]);
      expect(await sums(['owner', 'org'])).toEqual([
        { owner: 'alice', org: 'acme', vcpuS: 20, estimated: true },
        { owner: 'bob', org: 'acme', vcpuS: 1, estimated: false },
      ]);
      expect((await sums(['run', 'day'])).map(({ run, day }) => [run, day])).toEqual([
        ['', '2026-03-01'],
        ['run_1', '2026-03-01'],
        ['run_1', '2026-03-02'],
      ]);
      expect(await sums(['run'], { ...MARCH, to: '2026-03-01', runId: 'run_1' })).toHaveLength(1);
      expect(await sums(['day'], { ...MARCH, from: '2026-03-03' })).toEqual([]);
      expect(await sums(['owner'], { ...MARCH, owner: BOB })).toEqual([
        { owner: 'bob', vcpuS: 1, estimated: false },
      ]);
    });

    test('splits what was counted over midnight by time, and says so', async () => {
      await records.usage.add([read('box', 0, 0)]);
      await records.usage.add([read('box', 24 * 60, 240)]);
      expect(await sums(['day'], MARCH, NOON)).toEqual([
        { day: '2026-03-01', vcpuS: 120, estimated: true },
        { day: '2026-03-02', vcpuS: 120, estimated: true },
      ]);
    });

    test('is an estimate while a counter is overdue, and no more once it was read', async () => {
      await records.usage.add([read('box', 1, 10)]);
      expect(await sums(['sandbox'], MARCH, minutes(2))).toEqual([
        { sandbox: 'box', vcpuS: 10, estimated: true },
      ]);
      await records.usage.add([read('box', 5, 12)]);
      expect(await sums(['sandbox'], MARCH, minutes(2))).toEqual([
        { sandbox: 'box', vcpuS: 12, estimated: false },
      ]);
      await records.usage.add([read('box', 6, 12, { isLast: true })]);
      expect(await sums(['sandbox'], MARCH, minutes(60))).toEqual([
        { sandbox: 'box', vcpuS: 12, estimated: false },
      ]);
    });

    test('keeps what deleted sandboxes have used, and nothing of unknown ones', async () => {
      await records.usage.add([read('box', 1, 10), read('unknown', 1, 10)]);
      await records.sandboxes.setDesired('box', 'destroyed', 1);
      await records.sandboxes.setObserved('box', 'destroyed', 1);
      await records.usage.add([read('box', 2, 11, { isLast: true })]);
      expect(await sums(['sandbox'])).toEqual([{ sandbox: 'box', vcpuS: 11, estimated: false }]);
      expect(await records.usage.forget('2026-03-01')).toBe(0);
      expect(await records.usage.forget('2026-03-02')).toBe(1);
      expect(await sums(['sandbox'])).toEqual([]);
    });

    test('counts a pod of the pool from when its sandbox was made', async () => {
      const old = { startedAt: minutes(-9) };
      await records.usage.add([read('box', 1, 10, old)]);
      await records.usage.add([read('box', 2, 12, old)]);
      expect(await sums(['sandbox'])).toEqual([{ sandbox: 'box', vcpuS: 3, estimated: false }]);
    });

    test('has pages', async () => {
      await records.usage.add([read('box', 1, 10), read('bobs', 1, 1)]);
      const page = await records.usage.sum(['sandbox'], MARCH, { offset: 1, limit: 1 }, NOON);
      expect(page.map(({ group }) => group)).toEqual([{ sandbox: 'box' }]);
      expect(await sums(['sandbox'], { ...MARCH, user: ALICE.user, org: ALICE.org })).toHaveLength(1);
    });
  });
}
