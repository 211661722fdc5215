import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { collection, HTTP_ROUTES, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { LABELS, PREVIEW_LABELS, timeSlot } from '#constructs/names.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { keepPreviewAlive } from '#core/previews/live-previews.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { suite } from '#test/support/suite.ts';
import { cluster, missing } from '../fixture/cluster.ts';
import type { FunctionDeps } from './function-deps.ts';
import { openPlaneHarness, type PlaneHarness } from './plane-harness.ts';

const MINUTE = 60_000;
const SKEWS = [-5, 0, 5];
const IDLE = 30 * MINUTE;
const MAX = 480 * MINUTE;

suite('clocks that are five minutes off the API server’s', missing(), () => {
  describe.each(SKEWS)('with a reaper that is %i minutes ahead', (reaperSkew) => {
    let harness: PlaneHarness;
    beforeAll(async () => {
      harness = await openPlaneHarness(await cluster(), { name: `skew-${reaperSkew + 5}` });
    });
    afterAll(() => harness.close());

    /**
     * Dependencies with a machine clock `skew` minutes ahead, acting `later` milliseconds from now.
     */
    const at = (skew: number, later: number): FunctionDeps => {
      const machine = { now: () => new Date(Date.now() + skew * MINUTE) };
      const clock = { now: () => new Date(machine.now().getTime() + later) };
      return harness.another({ machine, clock });
    };
    const reapedAt = async (later: number) => {
      const { reaped, swept } = await reapPreviews(at(reaperSkew, later));
      return [reaped, swept];
    };

    it('ends previews when the last keepalive’s half hour is over: not a minute earlier, not a minute later', async () => {
      const previews = await Promise.all(
        SKEWS.flatMap((starter) =>
          SKEWS.map(async (supervisor) => {
            const run = harness.makeRun();
            const { preview } = await startPreview(at(starter, 0), { run, targetPort: 3000 });
            return { run, token: preview.token, supervisor };
          }),
        ),
      );
      expect(await reapedAt(IDLE - MINUTE)).toEqual([0, 0]);
      await Promise.all(
        previews.map(({ run, token, supervisor }) =>
          keepPreviewAlive(at(supervisor, IDLE - MINUTE), { run, token }),
        ),
      );
      expect(await reapedAt(2 * IDLE - 2 * MINUTE)).toEqual([0, 0]);
      expect(await reapedAt(2 * IDLE)).toEqual([9, 0]);
      expect(await harness.names(SERVICES)).toEqual([]);
    });

    it('ends previews when their longest life is over, however often they were kept alive', async () => {
      const runs: { run: RunRecord; token: string }[] = await Promise.all(
        SKEWS.map(async (starter) => {
          const run = harness.makeRun();
          const { preview } = await startPreview(at(starter, 0), { run, targetPort: 3000 });
          return { run, token: preview.token };
        }),
      );
      for (let later = 0, ticket = 0; later < MAX; later += 25 * MINUTE, ticket += 1) {
        // By other functions each time, so that times of all clocks meet in one preview.
        await Promise.all(
          runs.map(({ run, token }, which) => {
            const skew = SKEWS[(which + ticket) % SKEWS.length] ?? 0;
            return keepPreviewAlive(at(skew, later), { run, token });
          }),
        );
      }
      expect(await reapedAt(MAX - MINUTE)).toEqual([0, 0]);
      expect(await reapedAt(MAX + MINUTE)).toEqual([3, 0]);
      expect(await harness.names(HTTP_ROUTES)).toEqual([]);
      expect(await harness.names(SERVICES)).toEqual([]);
    });

    it('deletes what a start has left after two minutes, and not while the start may be under way', async () => {
      const labels = { ...PREVIEW_LABELS, [LABELS.madeSlot]: timeSlot(new Date()) };
      await harness.client.create(collection(SERVICES, harness.namespace), {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'preview-half', labels },
        spec: { clusterIP: 'None' },
      });
      expect(await reapedAt(MINUTE)).toEqual([0, 0]);
      expect(await reapedAt(3 * MINUTE)).toEqual([0, 1]);
    });
  });
});
