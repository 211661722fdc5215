import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ANNOTATIONS } from '#constructs/names.ts';
import { previewName } from '#core/rules/preview-token.ts';
import { type PinnedClock, pinnedClock } from '#test/doubles/pinned-clock.ts';
import { NOON, type PlaneBed, planeBed } from './plane-bed.ts';

const MINUTE = 60_000;
const later = (minutes: number) => new Date(NOON.getTime() + minutes * MINUTE);

describe('what another start has left behind', () => {
  let bed: PlaneBed;
  let clock: PinnedClock;
  beforeEach(async () => {
    clock = pinnedClock(NOON);
    bed = await planeBed({ clock });
  });
  afterEach(() => bed.close());

  /** A start that made its Service and then died. */
  const half = async (spec = bed.spec()) => {
    bed.server.fault = ({ verb, plural }) =>
      verb === 'create' && plural === 'httproutes' ? { kind: 'reset', committed: false } : undefined;
    await bed.plane.open(spec).catch(() => undefined);
    bed.server.fault = undefined;
    expect(bed.server.store.all('httproutes')).toEqual([]);
    return {
      spec,
      name: previewName(spec.token),
      service: bed.server.store.get('services', previewName(spec.token)),
    };
  };
  const patch = (name: string, change: object) =>
    bed.server.store.patch('services', name, 'application/merge-patch+json', change);

  test('is taken over at once by the next start', async () => {
    const { spec, service } = await half();
    const { preview, created } = await bed.another().plane.open(spec);
    expect(created).toBe(true);
    const route = bed.server.store.get('httproutes', preview.name);
    expect(route.metadata.ownerReferences?.[0]?.uid).toBe(service.metadata.uid);
  });

  test('and taken over, goes with its preview, once every start that might still use it has had its time', async () => {
    const { spec } = await half();
    const { plane } = bed.another();
    expect(await plane.close((await plane.open(spec)).preview)).toBe(true);
    expect(bed.server.store.all('services')).toHaveLength(1);
    expect(await plane.sweep(later(1))).toBe(0);
    expect(await plane.sweep(later(2))).toBe(1);

    await half(spec);
    const { preview } = await plane.open(spec);
    clock.advance(2 * MINUTE);
    expect(await plane.close(preview)).toBe(true);
    expect(bed.server.store.all('services')).toEqual([]);
  });

  test('is not swept from under a start that has taken it over', async () => {
    const { spec, name } = await half();
    const { plane: sweeper } = bed.another();
    const { plane: starter } = bed.another();
    bed.server.fault = ({ verb, plural }) => {
      // The sweep has judged the Service; before it deletes it, a start claims it.
      if (verb === 'delete' && plural === 'services') bed.server.fault = undefined;
      if (verb !== 'list' || plural !== 'httproutes') return undefined;
      patch(name, { metadata: { annotations: { [ANNOTATIONS.attempt]: 'a-start.1' } } });
      return undefined;
    };
    expect(await sweeper.sweep(later(3))).toBe(0);
    expect((await starter.open(spec)).created).toBe(true);
  });

  test('that was claimed less than two minutes ago is left alone, however old it is', async () => {
    const { name } = await half();
    patch(name, { metadata: { annotations: { [ANNOTATIONS.claimedAt]: later(54).toISOString() } } });
    expect(await bed.plane.sweep(later(55))).toBe(0);
    expect(await bed.plane.sweep(later(65))).toBe(1);
  });

  test('is found by a pass that looks at everything when it is older than half an hour', async () => {
    await half();
    // 12:05 + 44 minutes is no tenth minute of the hour's count, 12:05 + 45 is.
    expect(await bed.plane.sweep(later(44))).toBe(0);
    expect(await bed.plane.sweep(later(45))).toBe(1);
  });
});

describe('the Service of a preview that ends', () => {
  let bed: PlaneBed;
  beforeEach(async () => {
    bed = await planeBed();
  });
  afterEach(() => bed.close());

  test('is removed although somebody who minds Services has written to it', async () => {
    const { preview } = await bed.plane.open(bed.spec());
    bed.server.store.patch('services', preview.name, 'application/merge-patch+json', {
      metadata: { annotations: { 'cloud.example.com/status': 'seen' } },
    });
    expect(await bed.plane.close(preview, { uid: preview.uid })).toBe(true);
    expect(bed.server.store.all('services')).toEqual([]);
  });

  test('stays for a start that has claimed it meanwhile', async () => {
    const { preview } = await bed.plane.open(bed.spec());
    bed.server.store.patch('services', preview.name, 'application/merge-patch+json', {
      metadata: { annotations: { [ANNOTATIONS.attempt]: 'another-start.1' } },
    });
    expect(await bed.plane.close(preview, { uid: preview.uid })).toBe(true);
    expect(bed.server.store.all('services')).toHaveLength(1);
  });

  test('cannot keep the preview alive: its end does not depend on it', async () => {
    const { preview } = await bed.plane.open(bed.spec());
    bed.server.fault = ({ verb, plural }) =>
      verb === 'delete' && plural === 'services'
        ? { kind: 'status', status: 500, committed: false }
        : undefined;
    expect(await bed.plane.close(preview)).toBe(true);
    bed.server.fault = undefined;
    expect(await bed.plane.sweep(later(3))).toBe(1);
  });
});

describe('a start', () => {
  test('replaces a route whose Service somebody has removed', async () => {
    const bed = await planeBed();
    const spec = bed.spec();
    const { preview } = await bed.plane.open(spec);
    bed.server.store.delete('services', preview.name, undefined);
    const again = await bed.plane.open(spec);
    expect(again.created).toBe(true);
    expect(again.preview.uid).not.toBe(preview.uid);
    expect(bed.server.store.collectGarbage()).toBe(0);
    expect(await bed.plane.find(spec.token)).toEqual(again.preview);
    await bed.close();
  });

  test.each(['services', 'httproutes'])(
    'leaves %s of its name alone that are somebody else’s, and says so',
    async (plural) => {
      const bed = await planeBed();
      const spec = bed.spec();
      const { preview } = await bed.plane.open(spec);
      const foreign = structuredClone(bed.server.store.get(plural, preview.name));
      await bed.plane.close(preview);
      foreign.metadata.labels = {};
      bed.server.store.plant(plural, foreign);
      await expect(bed.plane.open(spec)).rejects.toMatchObject({
        code: 'preview_conflict',
      });
      expect(bed.server.store.all(plural).map(({ metadata }) => metadata.uid)).toEqual([
        foreign.metadata.uid,
      ]);
      const other = plural === 'services' ? 'httproutes' : 'services';
      expect(bed.server.store.all(other)).toEqual([]);
      await bed.close();
    },
  );
});
