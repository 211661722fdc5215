import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { killWhileStarting } from './kill-while-starting.ts';
import { type PlaneFixture, planeFixture, PREVIEW } from './plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await planeFixture({ clock: pinnedClock(new Date()), maxTotal: 100_000 });
});
afterEach(() => fixture.close());

test('announces nothing that does not exist when it is killed during a start, and one pass removes the rest (80 starts)', async () => {
  for (let kill = 0; kill < 10; kill += 1) {
    const reported = await killWhileStarting(fixture.server.access, PREVIEW, `kill ${kill}`);
    for (const each of reported) expect(await fixture.plane.find(each)).toBeDefined();
  }
  const names = (plural: string) => fixture.server.store.all(plural).map(({ metadata }) => metadata.name);
  for (const name of names('httproutes')) expect(names('services')).toContain(name);
  const partials = names('services').length - names('httproutes').length;
  expect(partials).toBeGreaterThan(0);
  expect(await fixture.plane.sweep(new Date(Date.now() + 300_000))).toBe(partials);
  expect(names('services')).toEqual(names('httproutes'));
});
