import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import type { PackedSkill } from '#core/skills/skill-store.ts';
import { ALICE, BOB, hash, minutes, NOON, aSandbox } from './samples.ts';

function skill(name: string, rest: Partial<PackedSkill> = {}): PackedSkill {
  return {
    name,
    owner: ALICE,
    description: `What ${name} does 🐍`,
    digest: hash(1),
    size: 7,
    putAt: NOON,
    files: [{ path: "o'hara's/SKILL.md", size: 7, sha256: hash(2) }],
    archive: Buffer.from([0, 1, 2, 0xff]),
    ...rest,
  };
}

/** The contract of the records of skills, `peer` being a second instance on the same database. */
export function skillsContract(instances: () => { readonly records: Records; readonly peer: Records }): void {
  describe('skills', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });
    const names = async (owner = ALICE) =>
      (await peer.skills.list(owner, { limit: 10 })).items.map(({ name }) => name);

    test('come back as they were put, byte by byte', async () => {
      const given = skill('pdf');
      const { archive, ...record } = given;
      const { files: _, ...summary } = record;
      expect(await records.skills.put(given, 9)).toBe('added');
      expect(await peer.skills.get(ALICE, 'pdf')).toEqual(record);
      expect(await peer.skills.find(ALICE, ['pdf', 'none'])).toEqual([summary]);
      const [loaded] = await peer.skills.load(ALICE, ['pdf']);
      expect(loaded).toEqual({ ...record, archive: expect.anything() });
      expect(Buffer.from(loaded?.archive ?? [])).toEqual(archive);
      expect(await peer.skills.get(BOB, 'pdf')).toBeUndefined();
      expect(await peer.skills.find(ALICE, [])).toEqual([]);
    });

    test('are replaced as a whole by one of the same name', async () => {
      await records.skills.put(skill('pdf'), 1);
      const second = skill('pdf', { digest: hash(9), description: 'new', files: [], putAt: minutes(1) });
      expect(await peer.skills.put(second, 1)).toBe('replaced');
      expect(await records.skills.get(ALICE, 'pdf')).toMatchObject({
        digest: hash(9),
        description: 'new',
        files: [],
      });
    });

    test('are as many as their owner may have, however many come at once', async () => {
      const done = await Promise.all(
        Array.from({ length: 12 }, (_, at) => (at % 2 ? peer : records).skills.put(skill(`s${at}`), 5)),
      );
      expect(done.filter((each) => each === 'added')).toHaveLength(5);
      expect(done.filter((each) => each === 'too_many')).toHaveLength(7);
      expect(await names()).toHaveLength(5);
      expect(await peer.skills.put(skill('other', { owner: BOB }), 5)).toBe('added');
    });

    test('are shared where they have no owner, and a user’s own skill comes first', async () => {
      await records.skills.put(skill('pdf', { owner: null, description: 'shared' }), 9);
      await records.skills.put(skill('xls', { owner: null }), 9);
      await records.skills.put(skill('pdf'), 9);
      expect((await peer.skills.find(ALICE, ['pdf', 'xls'])).map(({ owner }) => owner)).toEqual(
        expect.arrayContaining([ALICE, null]),
      );
      expect(await peer.skills.get(ALICE, 'pdf')).toMatchObject({ owner: ALICE });
      expect(await peer.skills.get(BOB, 'pdf')).toMatchObject({ owner: null, description: 'shared' });
      expect(await names()).toEqual(['pdf', 'xls']);
      expect(await records.skills.delete(ALICE, 'pdf')).toBe(true);
      expect(await records.skills.delete(ALICE, 'pdf')).toBe(false);
      expect(await peer.skills.get(ALICE, 'pdf')).toMatchObject({ owner: null });
      expect(await records.skills.delete(null, 'pdf')).toBe(true);
      expect(await peer.skills.get(ALICE, 'pdf')).toBeUndefined();
    });

    test('are listed by name, page by page', async () => {
      for (const name of ['b', 'a-b', 'a', 'c']) await records.skills.put(skill(name), 9);
      const first = await peer.skills.list(ALICE, { limit: 2 });
      expect([first.items.map(({ name }) => name), first.next]).toEqual([['a', 'a-b'], 'a-b']);
      const second = await peer.skills.list(ALICE, { limit: 2, after: 'a-b' });
      expect([second.items.map(({ name }) => name), second.next]).toEqual([['b', 'c'], null]);
      await expect(peer.skills.list(ALICE, { limit: 0 })).rejects.toMatchObject({ code: 'invalid_request' });
    });

    test('are stored as they were set for the generation of their sandbox', async () => {
      await records.sandboxes.create(aSandbox('box', { skills: [{ name: 'pdf', digest: null, kept: [] }] }));
      const placed = [{ name: 'pdf', digest: hash(1), kept: ["pdf/o'hara"] }];
      await peer.sandboxes.setSkills({ id: 'box', generation: 2 }, []);
      await peer.sandboxes.setSkills({ id: 'box', generation: 1 }, placed);
      expect(await records.sandboxes.get('box')).toMatchObject({ skills: placed });
    });
  });
}
