import { beforeEach, describe, expect, test } from '@jest/globals';
import type { CatalogueImage } from '#core/images/image-store.ts';
import type { Records } from '#core/records.ts';
import { minutes, NOON } from './samples.ts';

const PYTHON: CatalogueImage = {
  name: 'python',
  reference: 'registry.test/python@sha256:1',
  description: "Python 🐍 of o'hara",
  languages: ['python', 'c++'],
  resources: { cpu: 1.5, memoryMb: 2048 },
};

/** The contract of the catalogue's records, `peer` being a second instance on the same database. */
export function imagesContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('images', () => {
    let records: Records;
    let peer: Records;
    beforeEach(async () => {
      ({ records, peer } = instances());
      await records.images.put(PYTHON, NOON);
    });

    test('come back as they were added', async () => {
      expect(await peer.images.get('python')).toEqual(PYTHON);
      expect(await peer.images.get('Python')).toBeUndefined();
    });

    test('are replaced by one of the same name, as a whole', async () => {
      const second = { ...PYTHON, reference: 'registry.test/python@sha256:2', languages: [], resources: {} };
      expect(await peer.images.put(second, minutes(1))).toBe(false);
      expect(await records.images.list()).toEqual([second]);
    });

    test('are new to one of many who add the same at once', async () => {
      const added = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 ? peer : records).images.put({ ...PYTHON, name: 'node' }, NOON),
        ),
      );
      expect(added.filter(Boolean)).toEqual([true]);
    });

    test('are listed by name', async () => {
      for (const name of ['node', 'a.b', 'a-b']) await records.images.put({ ...PYTHON, name }, NOON);
      expect((await peer.images.list()).map(({ name }) => name)).toEqual(['a-b', 'a.b', 'node', 'python']);
    });

    test('are gone once they are deleted', async () => {
      expect(await peer.images.delete('python')).toBe(true);
      expect(await records.images.delete('python')).toBe(false);
      expect(await records.images.get('python')).toBeUndefined();
    });
  });
}
