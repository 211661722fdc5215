import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import type { QuotaLimits } from '#core/sandboxes/sandbox-capacity.ts';
import type { Quota } from '#core/sandboxes/sandbox-quotas.ts';
import { POOL_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import { ALICE, BOB, NOON, aRun, aSandbox, THREE } from './samples.ts';

const FIFTY = Array.from({ length: 50 }, (_, at) => at);

/** The contract of the records of quotas; `peer` is a second instance on the same database. */
export function quotasContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('quotas', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });
    const bound = (quota: Quota): QuotaLimits => ({ ...THREE, quota });
    const either = (at: number) => (at % 2 ? peer : records).capacity;

    test('count CPUs and memory of what is wanted to run, and the disk of what is stopped as well', async () => {
      const resources = { cpu: 0.1, memoryMb: 100, diskMb: 10 };
      await records.sandboxes.create(aSandbox('sized', { resources }));
      await records.sandboxes.create(aSandbox('sized-too', { resources: { cpu: 0.2 } }));
      await records.sandboxes.create(aSandbox('plain', { observed: 'running' }));
      await records.sandboxes.create(aSandbox('stopped', { desired: 'stopped', resources: { diskMb: 7 } }));
      await records.sandboxes.create(aSandbox('going', { desired: 'destroyed' }));
      await records.sandboxes.create(aSandbox('gone', { desired: 'destroyed', observed: 'destroyed' }));
      await records.sandboxes.create(aSandbox('bobs', { owner: BOB }));
      expect(await peer.capacity.usage(ALICE, THREE.defaultSize)).toEqual({
        sandboxes: 3,
        cpu: 1.3,
        memoryMb: 100 + 1_024 + 1_024,
        diskMb: 10 + 2_048 + 2_048 + 7,
      });
      expect(await peer.capacity.usage(POOL_OWNER, THREE.defaultSize)).toEqual({
        sandboxes: 0,
        cpu: 0,
        memoryMb: 0,
        diskMb: 0,
      });
    });

    test.each<[string, Quota, number]>([
      ['CPUs', { cpu: 1 }, 10],
      ['memory', { memoryMb: 700 }, 7],
      ['disk', { diskMb: 50 }, 5],
      ['sandboxes', { sandboxes: 4, cpu: 9 }, 4],
    ])('of %s are kept by 50 who ask at once', async (_, quota, fit) => {
      const resources = { cpu: 0.1, memoryMb: 100, diskMb: 10 };
      const asked = await Promise.all(
        FIFTY.map((at) => either(at).reserve(aSandbox(`box-${at}`, { resources }), bound(quota))),
      );
      expect(asked.filter(({ kind }) => kind === 'reserved')).toHaveLength(fit);
      expect(asked.filter(({ kind }) => kind === 'over_quota')).toHaveLength(50 - fit);
      expect(await records.capacity.usage(ALICE, THREE.defaultSize)).toMatchObject({ sandboxes: fit });
    });

    test('limit active runs when 50 are made at once, and count no completed run', async () => {
      const make = (at: number) => (at % 2 ? peer : records).runs.create(aRun(`run_${at}`), [], 7);
      const made = await Promise.all(FIFTY.map(make));
      expect(made.filter(Boolean)).toHaveLength(7);
      expect(await records.runs.countActive(ALICE)).toBe(7);
      const [first] = FIFTY.filter((at) => made[at]);
      await records.runs.complete(`run_${first}`, NOON);
      expect(await peer.runs.countActive(ALICE)).toBe(6);
      expect(await peer.runs.countActive(BOB)).toBe(0);
      expect(await records.runs.create(aRun('run_next'), [], 7)).toBe(true);
      expect(await records.runs.create(aRun('run_unbound'))).toBe(true);
    });

    test('are kept by 50 stopped sandboxes that are wanted at once', async () => {
      for (const at of FIFTY) {
        await records.sandboxes.create(aSandbox(`box-${at}`, { desired: 'stopped', observed: 'stopped' }));
      }
      const woken = await Promise.all(
        FIFTY.map((at) => either(at).wake({ id: `box-${at}`, generation: 1 }, NOON, bound({ cpu: 4 }))),
      );
      expect(woken.filter((each) => each === 'woken')).toHaveLength(4);
      expect(woken.filter((each) => typeof each !== 'string')).toHaveLength(46);
      expect(await records.capacity.usage(ALICE, THREE.defaultSize)).toMatchObject({ cpu: 4 });
    });

    test('are kept by those who create and those who resume together', async () => {
      for (const at of FIFTY) {
        await records.sandboxes.create(aSandbox(`old-${at}`, { desired: 'stopped', observed: 'stopped' }));
      }
      await Promise.all(
        FIFTY.flatMap((at): Promise<unknown>[] => [
          either(at).wake({ id: `old-${at}`, generation: 1 }, NOON, THREE),
          either(at + 1).reserve(aSandbox(`new-${at}`), THREE),
        ]),
      );
      expect(await records.capacity.usage(ALICE, THREE.defaultSize)).toMatchObject({ sandboxes: 3 });
    });

    test('are kept by 50 who take what waits', async () => {
      for (const at of FIFTY) {
        await records.sandboxes.create(aSandbox(`warm-${at}`, { owner: POOL_OWNER, observed: 'running' }));
      }
      const sandboxOptions = {
        sessionKey: null,
        name: null,
        tags: {},
        env: {},
        resources: {},
        quotaLimits: THREE,
      };
      const taken = await Promise.all(
        FIFTY.map((at) => either(at).takeWarm('here', POOL_OWNER, ALICE, NOON, { sandboxOptions })),
      );
      expect(taken.filter((each) => each !== undefined)).toHaveLength(3);
    });

    test('let a stopped sandbox run again, because its disk is already counted', async () => {
      await records.sandboxes.create(aSandbox('box', { desired: 'stopped', observed: 'stopped' }));
      const box = { id: 'box', generation: 1 };
      expect(await records.capacity.wake(box, NOON, bound({ diskMb: 1 }))).toBe('woken');
    });

    test('do not apply where nothing new is requested', async () => {
      await records.sandboxes.create(aSandbox('box'));
      expect(await records.capacity.wake({ id: 'box', generation: 1 }, NOON, bound({ cpu: 0 }))).toBe(
        'unchanged',
      );
      expect(await records.capacity.wake({ id: 'none', generation: 1 }, NOON, bound({ cpu: 0 }))).toBe(
        'unchanged',
      );
      await records.sandboxes.setDesired('box', 'stopped');
      expect(await records.capacity.wake({ id: 'box', generation: 2 }, NOON, bound({}))).toBe('unchanged');
      expect(await records.capacity.wake({ id: 'box', generation: 1 }, NOON)).toBe('woken');
      expect(await peer.sandboxes.get('box')).toMatchObject({ desired: 'running', stoppedAt: null });
    });
  });

  test('forgets the environment of a sandbox once it is destroyed', async () => {
    const { records, peer } = instances();
    await records.sandboxes.create(aSandbox('box', { env: { TOKEN: 'secret' } }));
    await records.sandboxes.setObserved('box', 'destroyed');
    expect(await peer.sandboxes.get('box')).toMatchObject({ env: {} });
  });
}
