import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ANNOTATIONS } from '#constructs/names.ts';
import type { PreviewPlane, PreviewSpec } from '#core/previews/preview-plane.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { type PinnedClock, pinnedClock } from '#test/doubles/pinned-clock.ts';
import { NOON, type PlaneFixture, planeFixture } from './plane-fixture.ts';

const MINUTE = 60_000;

describe('a place of a run', () => {
  let fixture: PlaneFixture;
  let clock: PinnedClock;
  beforeEach(async () => {
    clock = pinnedClock(NOON);
    fixture = await planeFixture({ clock });
  });
  afterEach(() => fixture.close());

  const fits = async (spec: PreviewSpec, plane: PreviewPlane = fixture.plane) => {
    const { preview } = await plane.open(spec);
    return plane.isAmongFirst(preview, 1);
  };
  const annotate = (plural: string, spec: PreviewSpec, annotations: Record<string, string | null>) =>
    fixture.server.store.patch(plural, previewName(spec.token), 'application/merge-patch+json', {
      metadata: { annotations },
    });

  test('belongs to the start that was held up after its Service, and not to one that overtook it', async () => {
    const [slow, fast] = [fixture.spec(), fixture.spec()];
    let overtaken: Promise<boolean> | undefined;
    fixture.server.pace = async ({ verb, plural }) => {
      if (verb !== 'create' || plural !== 'httproutes' || overtaken !== undefined) return;
      overtaken = fits(fast, fixture.another().plane);
      expect(await overtaken).toBe(false);
    };
    expect(await fits(slow)).toBe(true);
    expect(await overtaken).toBe(false);
  });

  test('goes to the first start, whatever time the second one has', async () => {
    const [first, second] = [fixture.spec({ startedAt: NOON }), fixture.spec({ startedAt: new Date(0) })];
    expect(await fits(first)).toBe(true);
    expect(await fits(second)).toBe(false);
  });

  /** A start that created its Service and then crashed. */
  const half = async (spec: PreviewSpec) => {
    fixture.server.fault = ({ verb, plural }) =>
      verb === 'create' && plural === 'httproutes' ? { kind: 'reset', committed: false } : undefined;
    await fixture.plane.open(spec).catch(() => undefined);
    fixture.server.fault = undefined;
  };

  test('is taken by a start that died, for two minutes', async () => {
    await half(fixture.spec());
    const spec = fixture.spec();
    expect(await fits(spec)).toBe(false);
    clock.advance(2 * MINUTE - 1);
    expect(await fits(spec)).toBe(false);
    clock.advance(1);
    expect(await fits(spec)).toBe(true);
  });

  test('belongs to the start that took over an abandoned one, until its route has its own ticket', async () => {
    const [left, spec] = [fixture.spec(), fixture.spec()];
    await half(left);
    await fixture.plane.open(spec);
    for (let takenOver = 0; takenOver < 2; takenOver += 1) {
      await half(left);
      expect(await fits(spec)).toBe(false);
    }
    expect(await fits(left)).toBe(false);
    expect(await fits(spec)).toBe(true);
  });

  test.each([1, 3])('is not lost to what was left %i minutes before and is taken over', async (minutes) => {
    const [left, spec] = [fixture.spec(), fixture.spec()];
    await half(left);
    await half(left);
    clock.advance(minutes * MINUTE);
    await fixture.plane.open(spec);
    // Once more within the start timeout: that start was late as well.
    for (let takenOver = 0; takenOver < 2; takenOver += 1) {
      await half(left);
      expect(await fits(spec)).toBe(true);
    }
    expect(await fits(left)).toBe(false);
  });

  test('is held by a preview that does not tell its turn', async () => {
    const [old, spec] = [fixture.spec(), fixture.spec()];
    await fixture.plane.open(spec);
    await fixture.plane.open(old);
    annotate('httproutes', old, { [ANNOTATIONS.ticket]: null });
    expect(await fits(spec)).toBe(false);
    expect(await fits(old)).toBe(true);
  });

  test('is known of a preview that came from elsewhere by a look at its route', async () => {
    const [first, second] = [fixture.spec(), fixture.spec()];
    await fixture.plane.open(first);
    const { preview } = await fixture.plane.open(second);
    const { plane } = fixture.another();
    expect(await plane.isAmongFirst({ ...preview }, 1)).toBe(false);
    await plane.close(preview);
    // A deleted preview needs no slot.
    expect(await plane.isAmongFirst({ ...preview }, 1)).toBe(true);
  });

  test('costs one read where there are no more Services than places, else two', async () => {
    const before = fixture.server.calls.length;
    await fits(fixture.spec());
    await fits(fixture.spec());
    expect(fixture.server.calls.slice(before).map(({ verb, plural }) => `${verb} ${plural}`)).toEqual([
      'create services',
      'create httproutes',
      'list services',
      'create services',
      'create httproutes',
      'list services',
      'list httproutes',
    ]);
  });

  test('keeps each granted place and grants no more than the limit, in any order of calls', async () => {
    const planes = Array.from({ length: 3 }, () => fixture.another().plane);
    for (let round = 0; round < 24; round += 1) {
      const specs = Array.from({ length: 6 }, () => fixture.spec({ runId: `run_${round}` }));
      // In two rounds of three, crashed starts have left some Services behind.
      const left = specs.slice(0, round % 3);
      for (const each of left) await half(each);
      fixture.server.pace = ({ verb }) => pause(Math.random() ** 3 * (verb === 'list' ? 20 : 40));
      const reported = await Promise.all(
        [...specs, ...specs].map(async (spec, at) => {
          const plane = planes[at % planes.length] ?? fixture.plane;
          const { preview } = await plane.open(spec);
          const first = await plane.isAmongFirst(preview, 3);
          const again = await plane.isAmongFirst(preview, 3);
          return { name: preview.name, first, again };
        }),
      );
      fixture.server.pace = undefined;
      expect(reported.filter(({ first, again }) => first && !again)).toEqual([]);
      const staying = new Set(reported.filter(({ first }) => first).map(({ name }) => name));
      expect(staying.size).toBeLessThanOrEqual(3);
      if (left.length === 0) expect(staying.size).toBe(3);
      for (const spec of specs) await fixture.plane.close({ name: previewName(spec.token) });
    }
  });
});
