import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CatalogueImage } from '#core/images/image-store.ts';
import { SHIPPED_IMAGES, listImages } from '#core/images/image-catalogue.ts';
import { readConfig } from '#host/config/config.ts';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { ADA_ADMIN, ALICE, PEOPLE } from './support/people.ts';

interface Listed {
  readonly name: string;
  readonly reference: string;
  readonly source: string;
}

const outcome = (answer: Answer) => [answer.status, answer.json()['code']];

describe('the catalogue of images', () => {
  let porthole: TestHost;
  const asAda = (method: string, path: string, body?: unknown) =>
    porthole.call(method, path, { token: ADA_ADMIN, body });
  const asAlice = (method: string, path: string, body?: unknown) =>
    porthole.call(method, path, { token: ALICE, body });
  const listed = async () => (await asAlice('GET', '/api/images')).json<{ images: Listed[] }>().images;
  /** The catalogue of a provider that runs only some images. */
  const runnable = (runs: (reference: string) => boolean) =>
    listImages({
      records: porthole.host.services.records,
      images: SHIPPED_IMAGES,
      sandboxes: { runsImage: async (reference) => runs(reference) },
    });
  const sandboxes = async () =>
    (await asAlice('GET', '/v1/sandbox')).json<{ sandboxes: object[] }>().sandboxes.length;

  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
  });
  afterAll(() => porthole.end());

  test('offers no image on a provider that runs none', async () => {
    expect(await listed()).toEqual([]);
  });

  test('adds an image, replaces it and deletes it', async () => {
    const image = {
      name: 'data',
      reference: 'registry.test/data@sha256:1',
      description: 'numpy',
      languages: ['python'],
      resources: { cpu: 0.5, memory_mb: 512 },
    };
    const first = await asAda('POST', '/api/images', image);
    expect([first.status, first.json()]).toEqual([201, image]);
    const second = await asAda('POST', '/api/images', { name: 'data', reference: 'registry.test/data:2' });
    expect([second.status, second.json()]).toEqual([
      200,
      { name: 'data', reference: 'registry.test/data:2', description: '', languages: [], resources: {} },
    ]);
    expect(await runnable(() => true)).toEqual(
      [
        { ...SHIPPED_IMAGES[0], source: 'configuration' },
        { ...second.json<CatalogueImage>(), source: 'api' },
        { ...SHIPPED_IMAGES[1], source: 'configuration' },
        { ...SHIPPED_IMAGES[2], source: 'configuration' },
        { ...SHIPPED_IMAGES[3], source: 'configuration' },
      ].toSorted((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1)),
    );
    expect(
      (await runnable((reference) => reference.startsWith('registry.test/'))).map(({ name }) => name),
    ).toEqual(['data']);
    expect((await asAda('DELETE', '/api/images/data')).status).toBe(204);
    expect(outcome(await asAda('DELETE', '/api/images/data'))).toEqual([404, 'image_not_found']);
    expect((await runnable(() => true)).map(({ name }) => name)).toEqual([
      'code-interpreter',
      'multi',
      'node',
      'python',
    ]);
  });

  test.each([
    ['POST', '/api/images', { name: 'python', reference: 'registry.test/other:1' }],
    ['DELETE', '/api/images/python', undefined],
  ])('leaves what is configured alone: %s %s', async (method, path, body) => {
    const answer = await asAda(method, path, body);
    expect(outcome(answer)).toEqual([409, 'image_configured']);
    expect(answer.json()['error']).toContain('change PORTHOLE_IMAGES');
  });

  test.each([
    ['a name that is none', { name: 'No Name', reference: 'a' }, /^name: must be 1 to 63 lower-case/],
    ['a reference with a space', { name: 'a', reference: 'a b' }, /^reference: must be a reference/],
    [
      'too little memory',
      { name: 'a', reference: 'a', resources: { memory_mb: 1 } },
      /^resources.memory_mb: must be from 64/,
    ],
    ['what it does not know', { name: 'a', reference: 'a', tag: 'x' }, /tag/],
  ])('refuses %s', async (_what, body, message) => {
    const answer = await asAda('POST', '/api/images', body);
    expect(outcome(answer)).toEqual([400, 'invalid_request']);
    expect(answer.json()['error']).toMatch(message);
  });

  test.each(['/v1/sandbox', '/api/runs'])(
    'refuses at %s what it has not, and nothing is made',
    async (path) => {
      const before = await sandboxes();
      const answer = await asAlice('POST', path, { image: 'docker.io/library/debian:12' });
      expect(outcome(answer)).toEqual([400, 'image_not_supported']);
      expect(answer.json()['error']).toBe(
        'Image "docker.io/library/debian:12" is not in the catalogue, which offers no images here. Leave image out for the default, or ask an admin to add it with POST /api/images.',
      );
      expect(await sandboxes()).toBe(before);
    },
  );

  test('cannot help a provider that has no images, which says so, and nothing is made', async () => {
    const before = await sandboxes();
    const answer = await asAlice('POST', '/v1/sandbox', { image: 'python' });
    expect(outcome(answer)).toEqual([400, 'image_not_supported']);
    expect(answer.json()['error']).toContain('sandboxes on this machine have no images');
    expect(await sandboxes()).toBe(before);
  });
});

describe('PORTHOLE_IMAGES', () => {
  const read = (images: unknown) => readConfig({ PORTHOLE_IMAGES: JSON.stringify(images) }).images;

  test('replaces what ships', () => {
    expect(read({ r: { reference: 'registry.test/r:1', resources: { disk_mb: 64 } } })).toEqual([
      {
        name: 'r',
        reference: 'registry.test/r:1',
        description: '',
        languages: [],
        resources: { diskMb: 64 },
      },
    ]);
    expect(read({})).toEqual([]);
  });

  test('lists every problem with it', () => {
    expect(() => read({ 'No Name': { reference: 'a' }, a: { reference: '' } })).toThrow(
      /No Name: must be 1 to 63[\s\S]*a ▸ reference: must be a reference/,
    );
  });
});
