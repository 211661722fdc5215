import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { HTTP_ROUTES, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { PortholeError } from '#base/errors.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { keepPreviewAlive, stopPreview } from '#core/previews/live-previews.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { repetitions, suite } from '#test/support/suite.ts';
import { cluster, missing } from '../fixture/cluster.ts';
import { openPlaneHarness, type PlaneHarness } from './plane-harness.ts';
import { routesWithoutService, type WatchLog, watchLog } from './watch-log.ts';

const RACES = repetitions(1_000);
const AT_ONCE = 20;
const IDLE_MS = 30 * 60_000;

suite('two reapers and a keepalive on a real API server', missing(), () => {
  let harness: PlaneHarness;
  let log: WatchLog | undefined;
  beforeAll(async () => {
    harness = await openPlaneHarness(await cluster(), { name: 'races' });
    log = await watchLog(harness.access, harness.client, harness.namespace);
  });
  afterAll(async () => {
    log?.close();
    await harness.close();
  });

  it(`never lose a preview that was kept, end one twice, or bring one back (${RACES} times)`, async () => {
    let expiry = 0;
    // The previews start today; keepalives and reapers race at the moment of expiry.
    const clock = { now: () => new Date(expiry) };
    const starter = harness.another();
    const supervisor = harness.another({ clock });
    const reapers = [harness.another({ clock }), harness.another({ clock })];
    let passMs = 60;
    const [kept, ended] = [new Set<string>(), new Set<string>()];

    const keep = async (run: ReturnType<typeof harness.makeRun>, token: string) => {
      try {
        return await keepPreviewAlive(supervisor, { run, token });
      } catch (error) {
        if (error instanceof PortholeError && error.code === 'preview_not_found') return undefined;
        throw error;
      }
    };

    for (let race = 0; race < RACES; race += AT_ONCE) {
      const starts = await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          const run = harness.makeRun();
          return { run, ...(await startPreview(starter, { run, targetPort: 3000 })).preview };
        }),
      );
      expiry = Math.max(...starts.map(({ expiresAt }) => expiresAt?.getTime() ?? 0));
      const beganAt = performance.now();
      const [answers, ...reports] = await Promise.all([
        Promise.all(
          starts.map(async ({ run, token }, at) => {
            // Some before the reapers have listed, some while they delete, some after.
            await pause((at / AT_ONCE) * passMs);
            return keep(run, token);
          }),
        ),
        ...reapers.map(async (reaper) => {
          const report = await reapPreviews(reaper);
          passMs = performance.now() - beganAt;
          return report;
        }),
      ]);

      const survivors = await Promise.all(starts.map(({ token }) => starter.plane.find(token)));
      const existing = (preview: Preview | undefined) =>
        preview && [preview.uid, preview.expiresAt?.getTime()];
      expect(survivors.map(existing)).toEqual(answers.map(existing));
      for (const [at, answer] of answers.entries()) {
        if (answer !== undefined)
          expect([answer.uid, answer.expiresAt]).toEqual([starts[at]?.uid, new Date(expiry + IDLE_MS)]);
        (answer === undefined ? ended : kept).add(starts[at]?.uid ?? '');
      }
      const lost = answers.filter((each) => each === undefined).length;
      expect(reports.reduce((sum, { reaped }) => sum + reaped, 0)).toBe(lost);
      // Previews that were kept alive are stopped; the watch reports each end.
      await Promise.all(
        starts.map(async ({ run, token }, at) => answers[at] && stopPreview(starter, { run, token })),
      );
    }

    // Otherwise there was no race.
    expect(kept.size).toBeGreaterThan(RACES / 20);
    expect(ended.size).toBeGreaterThan(RACES / 20);
    expect(await harness.names(HTTP_ROUTES)).toEqual([]);
    expect(await harness.names(SERVICES)).toEqual([]);

    const events = (await log?.upToNow()) ?? [];
    const of = (type: string) => events.filter((each) => each.plural === 'httproutes' && each.type === type);
    expect(of('ADDED')).toHaveLength(RACES);
    expect(new Set(of('ADDED').map(({ name }) => name)).size).toBe(RACES);
    expect(of('DELETED')).toHaveLength(RACES);
    // A keepalive writes once, or twice if its first write went too far; never to a deleted
    // preview.
    expect(new Set(of('MODIFIED').map(({ uid }) => uid))).toEqual(kept);
    expect(routesWithoutService(events)).toEqual([]);
  }, 600_000);
});
