import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { killWhileStarting } from './kill-while-starting.ts';
import { type PlaneBed, planeBed, PREVIEW } from './plane-bed.ts';

let bed: PlaneBed;
beforeEach(async () => {
  bed = await planeBed({ clock: pinnedClock(new Date()), maxTotal: 100_000 });
});
afterEach(() => bed.close());

test('a function killed anywhere in a start has told of nothing that does not stand, and one pass removes its half (80 starts)', async () => {
  for (let kill = 0; kill < 10; kill += 1) {
    const told = await killWhileStarting(bed.server.access, PREVIEW, `kill ${kill}`);
    for (const each of told) expect(await bed.plane.find(each)).toBeDefined();
  }
  const names = (plural: string) => bed.server.store.all(plural).map(({ metadata }) => metadata.name);
  for (const name of names('httproutes')) expect(names('services')).toContain(name);
  const halves = names('services').length - names('httproutes').length;
  expect(halves).toBeGreaterThan(0);
  expect(await bed.plane.sweep(new Date(Date.now() + 300_000))).toBe(halves);
  expect(names('services')).toEqual(names('httproutes'));
});
