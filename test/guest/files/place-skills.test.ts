import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { putSkill, skillsArchive } from '#core/skills/put-skill.ts';
import type { PackedSkill } from '#core/skills/skill-store.ts';
import { placeSkills } from '../../../guest/files/place-skills.ts';
import { Workspace } from '../../../guest/files/workspace.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { skillTar } from '#test/support/skill-tar.ts';

/** As the records would store it. */
async function packed(name: string, files: Readonly<Record<string, string>>): Promise<PackedSkill> {
  const kept: PackedSkill[] = [];
  const skills = {
    put: (skill: PackedSkill) => {
      kept.push(skill);
      return Promise.resolve('added' as const);
    },
  } as never;
  await putSkill({ records: { skills }, clock: pinnedClock(new Date(0)) }, name, null, skillTar(name, files));
  return kept[0] as PackedSkill;
}

const archive = async (files: Readonly<Record<string, string>>) =>
  buffer(Readable.from(skillsArchive([await packed('pdf', files), await packed('xls', {})])));
const place = (workspace: string, input: Buffer) =>
  placeSkills(new Workspace(workspace), Readable.from([Buffer.from(input)]));

const folder = fs.mkdtempSync(join(tmpdir(), 'porthole-skills-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** The first skills are placed, and two of their files changed since. */
let begun: string;
let second: Buffer;
let third: Buffer;
const THIRD = {
  same: '1',
  changes: '3',
  mine: 'the user’s',
  goes: 'the user’s',
  'deep/new': '3',
  last: '3',
};

beforeAll(async () => {
  second = await archive({ same: '1', changes: '2', mine: '2', 'deep/new': '2', new: '2' });
  third = await archive({ same: '1', changes: '3', mine: '3', 'deep/new': '3', last: '3' });
  begun = fs.mkdtempSync(join(folder, 'begun-'));
  const first = await archive({ same: '1', changes: '1', mine: '1', goes: '1', 'deep/er/goes': '1' });
  expect(await place(begun, first)).toEqual([]);
  fs.writeFileSync(join(begun, 'skills/pdf/mine'), 'the user’s');
  fs.writeFileSync(join(begun, 'skills/pdf/goes'), 'the user’s');
});

const begin = () => {
  const workspace = fs.mkdtempSync(join(folder, 'workspace-'));
  fs.cpSync(begun, workspace, { recursive: true });
  return workspace;
};
const tree = (workspace: string) =>
  Object.fromEntries(
    fs
      .readdirSync(join(workspace, 'skills/pdf'), { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile() && each.name !== 'SKILL.md')
      .map((each) => join(each.parentPath, each.name))
      .map((file) => [file.slice(join(workspace, 'skills/pdf/').length), fs.readFileSync(file, 'utf8')]),
  );

test('replaces what is its own, and leaves nothing but skills', async () => {
  const workspace = begin();
  expect(await place(workspace, third)).toEqual(['pdf/mine']);
  expect(tree(workspace)).toEqual(THIRD);
  expect(fs.readdirSync(workspace)).toEqual(['skills']);
  expect(fs.readdirSync(join(workspace, 'skills'))).toEqual(['.porthole', 'pdf', 'xls']);
});

test('changes nothing where its input is cut off', async () => {
  const workspace = begin();
  const before = tree(workspace);
  await expect(place(workspace, second.subarray(0, -1_024 - 3))).rejects.toMatchObject({
    code: 'invalid_request',
  });
  expect(tree(workspace)).toEqual(before);
  expect(fs.readdirSync(workspace)).toEqual(['skills']);
});

test('writes nothing through a link', async () => {
  const [workspace, elsewhere] = [begin(), fs.mkdtempSync(join(folder, 'elsewhere-'))];
  fs.rmSync(join(workspace, 'skills/pdf/deep'), { recursive: true });
  fs.symlinkSync(elsewhere, join(workspace, 'skills/pdf/deep'));
  expect(await place(workspace, third)).toEqual(['pdf/deep/new', 'pdf/mine']);
  fs.rmSync(join(workspace, 'skills'), { recursive: true });
  fs.symlinkSync(elsewhere, join(workspace, 'skills'));
  expect(await place(workspace, third)).toContain('pdf/SKILL.md');
  expect(fs.readdirSync(elsewhere)).toEqual([]);
});

const CHANGES = [
  'mkdirSync',
  'openSync',
  'writeSync',
  'writeFileSync',
  'renameSync',
  'unlinkSync',
  'rmdirSync',
  'closeSync',
] as const;

/**
 * Places skills as a guest that is killed before its call of that number; false if it made fewer
 * calls.
 */
async function placeAndDie(workspace: string, input: Buffer, number: number): Promise<boolean> {
  const calls = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  const originals = CHANGES.map((name) => [name, calls[name] as (...args: unknown[]) => unknown] as const);
  let left = number;
  for (const [name, original] of originals) {
    calls[name] = (...args) => {
      // The end of a process closes descriptors as well.
      if (left <= 0 && name !== 'closeSync') throw new Error('killed');
      left -= 1;
      return original(...args);
    };
  }
  try {
    await place(workspace, input).catch(() => undefined);
  } finally {
    for (const [name, original] of originals) calls[name] = original;
  }
  return left <= 0;
}

test('may be killed anywhere: the next one tells its own files from those of the user', async () => {
  let killed = 0;
  for (let number = 0; ; number += 1) {
    const workspace = begin();
    if (!(await placeAndDie(workspace, second, number))) break;
    killed += 1;
    expect([number, await place(workspace, third)]).toEqual([number, ['pdf/mine']]);
    expect([number, tree(workspace)]).toEqual([number, THIRD]);
    fs.rmSync(workspace, { recursive: true });
  }
  expect(killed).toBeGreaterThan(50);
}, 120_000);
