import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { ANNOTATIONS, LABELS } from '#constructs/names.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { collect } from '#test/support/collect.ts';
import { NOON, type PlaneFixture, planeFixture, PREVIEW } from './plane-fixture.ts';
import { raceReapers } from './race-reapers.ts';
import { repetitions } from '#test/support/suite.ts';

const MINUTE = 60_000;

let records: Records;
beforeEach(async () => {
  records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
});
afterEach(() => records.close());

const reap = (plane: PreviewPlane, clock: Clock) =>
  reapPreviews({ plane, clock, records, previewSettings: PREVIEW });

async function inFixture(
  options: Parameters<typeof planeFixture>[0],
  does: (fixture: PlaneFixture) => Promise<void>,
) {
  const fixture = await planeFixture(options);
  try {
    await does(fixture);
  } finally {
    await fixture.close();
  }
}

/** Replays the watch log: the routes that ever existed without the Service that owns them. */
function orphansEver({ server }: PlaneFixture): string[] {
  const services = new Set<string>();
  const routes = new Map<string, string>();
  const orphans: string[] = [];
  for (const { type, plural, object } of server.store.events) {
    const { uid, name, ownerReferences = [] } = object.metadata;
    const owner = ownerReferences[0]?.uid ?? '';
    if (plural === 'services') type === 'DELETED' ? services.delete(uid) : services.add(uid);
    else if (type === 'DELETED') routes.delete(uid);
    else routes.set(uid, owner);
    for (const standsOn of routes.values()) if (!services.has(standsOn)) orphans.push(name);
  }
  return orphans;
}

describe('two reapers and a keepalive at once', () => {
  test('never lose a preview that was kept, end one twice, or bring one back', async () => {
    await inFixture({ maxTotal: 1_000 }, async (fixture) => {
      await raceReapers({
        plane: fixture.plane,
        reapers: [fixture.another().plane, fixture.another().plane],
        previewSettings: PREVIEW,
        spec: () => fixture.spec(),
        races: repetitions(1_000),
        atOnce: 20,
        spreadMs: 40,
      });
      expect(fixture.server.store.all('httproutes')).toEqual([]);
      expect(fixture.server.store.all('services')).toEqual([]);
    });
  });
});

describe('starts and stops of the same previews at once', () => {
  test('never leave a route without its Service, at no moment', async () => {
    await inFixture({ maxTotal: 1_000 }, async (fixture) => {
      // Slow enough between a Service and its route that other starts give up waiting, and claim
      // it.
      fixture.server.pace = async ({ verb, plural }) => {
        if (plural === 'httproutes' && verb === 'create') await pause(Math.random() ** 3 * 400);
        else if (verb !== 'get') await pause(Math.random() * 5);
      };
      const functions = Array.from({ length: 4 }, () => fixture.another().plane);
      const specs = Array.from({ length: 8 }, () => fixture.spec());
      const most = repetitions(1_000);
      let starts = 0;
      let made = 0;
      const work = async (plane: PreviewPlane, at: number) => {
        while (starts < most) {
          starts += 1;
          const spec = specs[(starts * 3 + at) % specs.length] ?? fixture.spec();
          // Starts that lose too many races report it, and still leave nothing behind.
          const { preview, created } = await plane
            .open(spec)
            .catch(() => ({ preview: undefined, created: false }));
          if (created) made += 1;
          if (preview !== undefined) await plane.close(preview, starts % 2 === 0 ? { uid: preview.uid } : {});
        }
      };
      await Promise.all(functions.flatMap((plane, at) => [0, 1, 2, 3].map((more) => work(plane, at + more))));
      fixture.server.pace = undefined;
      expect(made).toBeGreaterThan(most / 10);
      expect(
        fixture.server.calls.filter(({ verb, plural }) => verb === 'patch' && plural === 'services').length,
      ).toBeGreaterThan(most / 100);
      expect(orphansEver(fixture)).toEqual([]);
      for (const preview of await collect(fixture.plane.list())) await fixture.plane.close(preview);
      await fixture.plane.sweep(new Date(NOON.getTime() + 3 * MINUTE));
      expect([...fixture.server.store.all('services'), ...fixture.server.store.all('httproutes')]).toEqual(
        [],
      );
    });
  });
});

describe('a reaper among 10,000 objects', () => {
  test('ends its own dead ones and touches nothing foreign, two at once and through expired pages', async () => {
    // At a tenth minute, in which a pass reads all objects.
    const clock = pinnedClock(new Date(NOON.getTime() + 5 * MINUTE));
    await inFixture({ clock, maxTotal: 20_000 }, async (fixture) => {
      const { store } = fixture.server;
      const { preview: model } = await fixture.plane.open(fixture.spec());
      const [modelRoute, modelService] = [
        store.get('httproutes', model.name),
        store.get('services', model.name),
      ];
      await fixture.plane.close(model);

      const dead = new Set<string>();
      const others = new Set<string>();
      for (let index = 0; index < 5_000; index += 1) {
        const spec = fixture.spec();
        const name = previewName(spec.token);
        const service = structuredClone(modelService);
        service.metadata.name = name;
        service.metadata.uid = `service-${index}`;
        const route = structuredClone(modelRoute);
        route.metadata.name = name;
        route.metadata.uid = `route-${index}`;
        route.metadata.ownerReferences = [
          { apiVersion: 'v1', kind: 'Service', name, uid: service.metadata.uid },
        ];
        route.spec = { ...route.spec, hostnames: [`${spec.token}-preview.${PREVIEW.zoneSuffix}`] };
        const notes = route.metadata.annotations ?? {};
        switch (index % 10) {
          case 0: // Foreign.
            delete route.metadata.labels?.[LABELS.managedBy];
            delete service.metadata.labels?.[LABELS.managedBy];
            break;
          case 1: // Unreadable.
            delete notes[ANNOTATIONS.targetPort];
            break;
          case 2: // Dated in the future, but young.
            notes[ANNOTATIONS.expiresAt] = '2030-01-01T00:00:00Z';
            notes[ANNOTATIONS.maxUntil] = '2030-01-01T00:00:00Z';
            break;
          case 3: // Dated in the future, and past its maximum age.
            notes[ANNOTATIONS.expiresAt] = '2030-01-01T00:00:00Z';
            notes[ANNOTATIONS.maxUntil] = '2030-01-01T00:00:00Z';
            route.metadata.creationTimestamp = '2026-03-01T02:00:00Z';
            dead.add(name);
            break;
          case 4: // Unreadable times, past its maximum age.
            notes[ANNOTATIONS.expiresAt] = 'tomorrow';
            notes[ANNOTATIONS.maxUntil] = 'later';
            route.metadata.creationTimestamp = '2026-03-01T02:00:00Z';
            dead.add(name);
            break;
          case 5: // Idle.
            notes[ANNOTATIONS.expiresAt] = '2026-03-01T12:00:00Z';
            dead.add(name);
            break;
          default: // Alive.
        }
        route.metadata.annotations = notes;
        if (!dead.has(name)) others.add(name);
        store.plant('services', service);
        store.plant('httproutes', route);
      }

      const [one, two] = [fixture.another(), fixture.another()];
      let lists = 0;
      fixture.server.fault = ({ verb, plural }) => {
        if (verb === 'list' && plural === 'httproutes') {
          lists += 1;
          if (lists % 5 === 0) store.expireContinues(lists % 2 === 0);
        }
        return undefined;
      };
      const reports = await Promise.all([reap(one.plane, clock), reap(two.plane, clock)]);
      expect(reports.reduce((sum, { reaped }) => sum + reaped, 0)).toBe(dead.size);
      expect(dead.size).toBe(1_500);
      const left = new Set(store.all('httproutes').map(({ metadata }) => metadata.name));
      expect(left).toEqual(others);
      expect(new Set(store.all('services').map(({ metadata }) => metadata.name))).toEqual(others);
    });
  });
});

describe('clocks that differ by five minutes', () => {
  const SKEWS = [-5, 0, 5];
  test.each(SKEWS.flatMap((handler) => SKEWS.map((reaper) => [handler, reaper] as const)))(
    'function %i min and reaper %i min from the API server: nothing is ended a minute early, nor a minute late',
    async (handlerSkew, reaperSkew) => {
      const truth = pinnedClock(NOON);
      const skewed = (minutes: number): Clock => ({
        now: () => new Date(truth.now().getTime() + minutes * MINUTE),
      });
      await inFixture({ serverClock: truth, clock: skewed(handlerSkew) }, async (fixture) => {
        const reaperClock = skewed(reaperSkew);
        const { plane: reaper } = fixture.another(reaperClock);
        const passes = async (at: number) => {
          truth.advance(NOON.getTime() + at - truth.now().getTime());
          const { reaped, swept } = await reap(reaper, reaperClock);
          return reaped + swept;
        };
        const { preview } = await fixture.plane.open(fixture.spec());
        expect(await passes(29 * MINUTE)).toBe(0);
        const handlerNow = truth.now().getTime() + handlerSkew * MINUTE;
        await fixture.plane.touch(preview.token, preview.runId, new Date(handlerNow + 30 * MINUTE));
        expect(await passes(58 * MINUTE)).toBe(0);
        expect(await passes(60 * MINUTE)).toBe(1);
        expect(fixture.server.store.all('services')).toEqual([]);
      });
    },
  );

  test.each(SKEWS)(
    'do not change a keepalive that is the first call of a function %i min off',
    async (skew) => {
      const truth = pinnedClock(NOON);
      await inFixture({ clock: truth }, async (fixture) => {
        const { preview } = await fixture.plane.open(fixture.spec());
        const clock: Clock = { now: () => new Date(truth.now().getTime() + skew * MINUTE) };
        const { plane } = fixture.another(clock);
        await plane.touch(preview.token, preview.runId, new Date(clock.now().getTime() + 40 * MINUTE));
        const kept = await fixture.plane.find(preview.token);
        const error = Math.abs((kept?.expiresAt?.getTime() ?? 0) - (NOON.getTime() + 40 * MINUTE));
        expect(error).toBeLessThanOrEqual(2_000);
      });
    },
  );

  test('does not collect an unfinished start when the clock of the reaper is ahead', async () => {
    const truth = pinnedClock(NOON);
    await inFixture({ clock: truth }, async (fixture) => {
      const clock: Clock = { now: () => new Date(truth.now().getTime() + 5 * MINUTE) };
      const { plane: reaper } = fixture.another(clock);
      fixture.server.fault = ({ verb, plural }) =>
        verb === 'create' && plural === 'httproutes' ? { kind: 'reset', committed: false } : undefined;
      await expect(fixture.plane.open(fixture.spec())).rejects.toMatchObject({ code: 'service_unavailable' });
      expect(fixture.server.store.all('services')).toHaveLength(1);
      expect(await reaper.sweep(clock.now())).toBe(0);
      truth.advance(2 * MINUTE);
      expect(await reaper.sweep(clock.now())).toBe(1);
    });
  });
});
