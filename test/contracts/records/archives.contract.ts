import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ArchiveRecord } from '#core/archives/archive-store.ts';
import type { Records } from '#core/records.ts';
import { ALICE, BOB, minutes, NOON } from './samples.ts';

function archive(id: string, rest: Partial<ArchiveRecord> = {}): ArchiveRecord {
  return {
    id,
    sandbox: { id: `box-${id}`, generation: 2, name: "o'hara", image: null },
    owner: ALICE,
    key: `place/${id}.tar`,
    size: 5_000_000_000_000,
    leftOut: 3,
    createdAt: NOON,
    ...rest,
  };
}

/** The contract of the records of archives, `peer` being a second instance on the same database. */
export function archivesContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('archives', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });
    const ids = async (...args: Parameters<Records['archives']['list']>) =>
      (await peer.archives.list(...args)).items.map(({ id }) => id);

    test('come back as they were put, and are replaced by those of their id', async () => {
      await records.archives.put(archive('a'));
      expect(await peer.archives.get('a')).toEqual(archive('a'));
      const again = archive('a', { size: 1, leftOut: 0, createdAt: minutes(1) });
      await peer.archives.put(again);
      expect(await records.archives.get('a')).toEqual(again);
      expect(await records.archives.get('b')).toBeUndefined();
    });

    test('are listed by their owner, by their sandbox, newest first and in pages', async () => {
      await records.archives.put(archive('old'));
      await records.archives.put(archive('new', { createdAt: minutes(2) }));
      await records.archives.put(archive('of-bob', { owner: BOB, createdAt: minutes(1) }));
      expect(await ids(ALICE, { limit: 10 })).toEqual(['new', 'old']);
      expect(await ids(undefined, { limit: 10 })).toEqual(['new', 'of-bob', 'old']);
      expect(await ids(undefined, { limit: 10 }, 'box-of-bob')).toEqual(['of-bob']);
      expect(await ids(ALICE, { limit: 10 }, 'box-of-bob')).toEqual([]);
      const first = await records.archives.list(ALICE, { limit: 1 });
      expect(await ids(ALICE, { limit: 1, after: first.next ?? '' })).toEqual(['old']);
    });

    test('are gone once they are removed', async () => {
      await records.archives.put(archive('a'));
      expect([await peer.archives.remove('a'), await records.archives.remove('a')]).toEqual([true, false]);
      expect(await records.archives.get('a')).toBeUndefined();
    });
  });
}
