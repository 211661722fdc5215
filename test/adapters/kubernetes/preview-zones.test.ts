import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Preview } from '#core/previews/preview-plane.ts';
import { previewHost } from '#core/previews/preview-token.ts';
import { planeFixture, type PlaneFixture, ZONE } from './plane-fixture.ts';

const ACME = {
  zone: 'acme.test',
  orgs: ['acme'],
  gateway: { kind: 'ListenerSet', name: 'edge', namespace: 'acme', sectionName: 'previews' },
} as const;

let fixture: PlaneFixture;
beforeEach(async () => {
  // Without a probe, a preview is ready once its Gateway has accepted the route.
  fixture = await planeFixture({
    previewSettings: { zones: [ACME], readyTimeoutSeconds: 1 },
    probe: () => undefined,
  });
});
afterEach(() => fixture.close());

const routeOf = (name: string) =>
  fixture.server.store.all('httproutes').find(({ metadata }) => metadata.name === name);

test('opens the previews of an org in its zone, at its Gateway', async () => {
  const spec = fixture.spec({ org: 'acme' });
  const { preview } = await fixture.plane.open(spec);
  expect(preview.url).toBe(`https://${previewHost(spec.token, 'acme.test')}`);
  expect(routeOf(preview.name)?.spec).toMatchObject({
    hostnames: [previewHost(spec.token, 'acme.test')],
    parentRefs: [
      {
        group: 'gateway.networking.k8s.io',
        kind: 'ListenerSet',
        name: 'edge',
        namespace: 'acme',
        sectionName: 'previews',
      },
    ],
  });
});

test.each(['another', undefined])('opens the previews of the org %s in the first zone', async (org) => {
  const spec = fixture.spec({ org });
  const { preview } = await fixture.plane.open(spec);
  expect(preview.url).toBe(`https://${previewHost(spec.token, ZONE)}`);
});

test('finds, lists and keeps a preview after its org has left the zone', async () => {
  const spec = fixture.spec({ org: 'acme' });
  const { preview } = await fixture.plane.open(spec);
  const moved = fixture.another(undefined, { zones: [{ ...ACME, orgs: ['another'] }] }).plane;
  expect(await moved.open(spec)).toMatchObject({ created: false, preview: { url: preview.url } });
  expect((await moved.find(spec.token))?.url).toBe(preview.url);
  const listed: (string | null)[] = [];
  for await (const { url } of moved.list()) listed.push(url);
  expect(listed).toEqual([preview.url]);
});

test('lists and closes the previews of a zone that is no longer configured', async () => {
  const spec = fixture.spec({ org: 'acme' });
  const { preview } = await fixture.plane.open(spec);
  expect(preview.hasFormerZone).toBe(false);
  const { plane } = fixture.another(undefined, { zones: [] });
  const listed: Preview[] = [];
  for await (const each of plane.list()) listed.push(each);
  expect(listed).toMatchObject([{ name: preview.name, url: preview.url, hasFormerZone: true }]);
  expect(await plane.close(preview)).toBe(true);
  expect(routeOf(preview.name)).toBeUndefined();
});

test.each([
  ['its own Gateway', ACME.gateway, true],
  ['another Gateway', { ...ACME.gateway, name: 'other' }, false],
  ['a Gateway of the same name as the ListenerSet', { ...ACME.gateway, kind: 'Gateway' }, false],
])('is ready: accepted by %s', async (_, parentRef, ready) => {
  const { preview } = await fixture.plane.open(fixture.spec({ org: 'acme' }));
  const route = routeOf(preview.name);
  if (route === undefined) throw new Error('no route');
  const conditions = ['Accepted', 'ResolvedRefs'].map((type) => ({ type, status: 'True' }));
  fixture.server.store.plant('httproutes', { ...route, status: { parents: [{ parentRef, conditions }] } });
  expect((await fixture.plane.awaitReady(preview)).ready).toBe(ready);
});
