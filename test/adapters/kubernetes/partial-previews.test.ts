import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ANNOTATIONS } from '#constructs/names.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { type PinnedClock, pinnedClock } from '#test/doubles/pinned-clock.ts';
import { NOON, type PlaneFixture, planeFixture } from './plane-fixture.ts';

const MINUTE = 60_000;
const later = (minutes: number) => new Date(NOON.getTime() + minutes * MINUTE);

describe('what another start has left behind', () => {
  let fixture: PlaneFixture;
  let clock: PinnedClock;
  beforeEach(async () => {
    clock = pinnedClock(NOON);
    fixture = await planeFixture({ clock });
  });
  afterEach(() => fixture.close());

  /** A start that created its Service and then crashed. */
  const half = async (spec = fixture.spec()) => {
    fixture.server.fault = ({ verb, plural }) =>
      verb === 'create' && plural === 'httproutes' ? { kind: 'reset', committed: false } : undefined;
    await fixture.plane.open(spec).catch(() => undefined);
    fixture.server.fault = undefined;
    expect(fixture.server.store.all('httproutes')).toEqual([]);
    return {
      spec,
      name: previewName(spec.token),
      service: fixture.server.store.get('services', previewName(spec.token)),
    };
  };
  const patch = (name: string, change: object) =>
    fixture.server.store.patch('services', name, 'application/merge-patch+json', change);

  test('is taken over at once by the next start', async () => {
    const { spec, service } = await half();
    const { preview, created } = await fixture.another().plane.open(spec);
    expect(created).toBe(true);
    const route = fixture.server.store.get('httproutes', preview.name);
    expect(route.metadata.ownerReferences?.[0]?.uid).toBe(service.metadata.uid);
  });

  test('goes with the preview that took it over, once every start that might still use it has had its time', async () => {
    const { spec } = await half();
    const { plane } = fixture.another();
    expect(await plane.close((await plane.open(spec)).preview)).toBe(true);
    expect(fixture.server.store.all('services')).toHaveLength(1);
    expect(await plane.sweep(later(1))).toBe(0);
    expect(await plane.sweep(later(2))).toBe(1);

    await half(spec);
    const { preview } = await plane.open(spec);
    clock.advance(2 * MINUTE);
    expect(await plane.close(preview)).toBe(true);
    expect(fixture.server.store.all('services')).toEqual([]);
  });

  test('is not swept from under a start that has taken it over', async () => {
    const { spec, name } = await half();
    const { plane: sweeper } = fixture.another();
    const { plane: starter } = fixture.another();
    fixture.server.fault = ({ verb, plural }) => {
      // TOCTOU: the sweep has decided on the Service; a start claims it before the sweep deletes
      // it.
      if (verb === 'delete' && plural === 'services') fixture.server.fault = undefined;
      if (verb !== 'list' || plural !== 'httproutes') return undefined;
      patch(name, { metadata: { annotations: { [ANNOTATIONS.attempt]: 'a-start.1' } } });
      return undefined;
    };
    expect(await sweeper.sweep(later(3))).toBe(0);
    expect((await starter.open(spec)).created).toBe(true);
  });

  test('is left alone when it was claimed less than two minutes ago, however old it is', async () => {
    const { name } = await half();
    patch(name, { metadata: { annotations: { [ANNOTATIONS.claimedAt]: later(54).toISOString() } } });
    expect(await fixture.plane.sweep(later(55))).toBe(0);
    expect(await fixture.plane.sweep(later(65))).toBe(1);
  });

  test('is found by a pass that looks at everything when it is older than half an hour', async () => {
    await half();
    // A full pass runs every tenth minute of the hour's count: 12:05 + 45 is one, 12:05 + 44 is
    // not.
    expect(await fixture.plane.sweep(later(44))).toBe(0);
    expect(await fixture.plane.sweep(later(45))).toBe(1);
  });
});

describe('the Service of a preview that ends', () => {
  let fixture: PlaneFixture;
  beforeEach(async () => {
    fixture = await planeFixture();
  });
  afterEach(() => fixture.close());

  test('removes it although a controller of Services has written to it', async () => {
    const { preview } = await fixture.plane.open(fixture.spec());
    fixture.server.store.patch('services', preview.name, 'application/merge-patch+json', {
      metadata: { annotations: { 'cloud.example.com/status': 'seen' } },
    });
    expect(await fixture.plane.close(preview, { uid: preview.uid })).toBe(true);
    expect(fixture.server.store.all('services')).toEqual([]);
  });

  test('stays for a start that has claimed it meanwhile', async () => {
    const { preview } = await fixture.plane.open(fixture.spec());
    fixture.server.store.patch('services', preview.name, 'application/merge-patch+json', {
      metadata: { annotations: { [ANNOTATIONS.attempt]: 'another-start.1' } },
    });
    expect(await fixture.plane.close(preview, { uid: preview.uid })).toBe(true);
    expect(fixture.server.store.all('services')).toHaveLength(1);
  });

  test('cannot keep the preview alive: its end does not depend on it', async () => {
    const { preview } = await fixture.plane.open(fixture.spec());
    fixture.server.fault = ({ verb, plural }) =>
      verb === 'delete' && plural === 'services'
        ? { kind: 'status', status: 500, committed: false }
        : undefined;
    expect(await fixture.plane.close(preview)).toBe(true);
    fixture.server.fault = undefined;
    expect(await fixture.plane.sweep(later(3))).toBe(1);
  });
});

describe('a start', () => {
  test('replaces a route that has lost its Service', async () => {
    const fixture = await planeFixture();
    const spec = fixture.spec();
    const { preview } = await fixture.plane.open(spec);
    fixture.server.store.delete('services', preview.name, undefined);
    const again = await fixture.plane.open(spec);
    expect(again.created).toBe(true);
    expect(again.preview.uid).not.toBe(preview.uid);
    expect(fixture.server.store.collectGarbage()).toBe(0);
    expect(await fixture.plane.find(spec.token)).toEqual(again.preview);
    await fixture.close();
  });

  test.each(['services', 'httproutes'])(
    'does not touch foreign %s of the same name, and logs them',
    async (plural) => {
      const fixture = await planeFixture();
      const spec = fixture.spec();
      const { preview } = await fixture.plane.open(spec);
      const foreign = structuredClone(fixture.server.store.get(plural, preview.name));
      await fixture.plane.close(preview);
      foreign.metadata.labels = {};
      fixture.server.store.plant(plural, foreign);
      await expect(fixture.plane.open(spec)).rejects.toMatchObject({
        code: 'preview_conflict',
      });
      expect(fixture.server.store.all(plural).map(({ metadata }) => metadata.uid)).toEqual([
        foreign.metadata.uid,
      ]);
      const other = plural === 'services' ? 'httproutes' : 'services';
      expect(fixture.server.store.all(other)).toEqual([]);
      await fixture.close();
    },
  );
});
