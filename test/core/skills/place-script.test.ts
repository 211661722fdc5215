import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PackedSkill } from '#core/skills/skill-store.ts';
import { PLACE_SKILLS } from '#core/skills/place-skills.ts';
import { putSkill, skillsArchive } from '#core/skills/put-skill.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { skillTar } from '#test/support/skill-tar.ts';
import { suite } from '#test/support/suite.ts';

/** As the records would keep it. */
async function packed(name: string, files: Readonly<Record<string, string>>): Promise<PackedSkill> {
  const kept: PackedSkill[] = [];
  const skills = {
    put: (skill: PackedSkill) => {
      kept.push(skill);
      return Promise.resolve('added' as const);
    },
  } as never;
  await putSkill({ records: { skills }, clock: pinnedClock(new Date(0)) }, name, null, skillTar(name, files));
  const [skill] = kept;
  if (skill === undefined) throw new Error('nothing was kept');
  return skill;
}

/** The script with a crash before its line of that number; undefined where none can stand. */
function crashing(line: number): string | undefined {
  const lines = PLACE_SKILLS.split('\n');
  const script = lines.toSpliced(line, 0, 'kill -KILL $$').join('\n');
  return spawnSync('sh', ['-n', '-c', script]).status === 0 ? script : undefined;
}

const folder = mkdtempSync(join(tmpdir(), 'porthole-skills-'));
afterAll(() => rmSync(folder, { recursive: true }));

const BUSYBOX = '/bin/busybox';

/** `step`: before which of its lines the script crashes, each or some. */
const SHELLS = [
  {
    name: 'the shell and tools of this machine',
    missing: undefined,
    pathOf: () => process.env['PATH'] ?? '',
    step: 1,
  },
  {
    name: 'busybox',
    missing: existsSync(BUSYBOX) ? undefined : 'busybox is missing: apt-get install busybox-static',
    pathOf: () => {
      const programs = join(folder, 'busybox');
      mkdirSync(programs);
      spawnSync(BUSYBOX, ['--install', '-s', programs]);
      return programs;
    },
    step: 7,
  },
];

for (const { name, missing, pathOf, step } of SHELLS) {
  suite(`the script that places skills, with ${name}`, missing, () => {
    let path: string;
    let runs = 0;
    /** With the first ones placed, and two of their files changed since. */
    let begun: string;
    let first: Buffer;
    let second: Buffer;
    let third: Buffer;
    const archive = async (files: Readonly<Record<string, string>>) =>
      buffer(Readable.from(skillsArchive([await packed('pdf', files), await packed('xls', {})])));

    beforeAll(async () => {
      path = pathOf();
      first = await archive({ same: '1', changes: '1', mine: '1', goes: '1', 'deep/er/goes': '1' });
      second = await archive({ same: '1', changes: '2', mine: '2', 'deep/new': '2', new: '2' });
      third = await archive({ same: '1', changes: '3', mine: '3', 'deep/new': '3', last: '3' });
      begun = mkdtempSync(join(folder, 'begun-'));
      expect(place(begun, first)).toMatchObject({ status: 0, stdout: Buffer.alloc(0) });
      writeFileSync(join(begun, 'skills/pdf/mine'), 'the user’s');
      writeFileSync(join(begun, 'skills/pdf/goes'), 'the user’s');
    });

    const place = (workspace: string, input: Buffer, script = PLACE_SKILLS) => {
      const args = ['-c', script, 'sh', `t${runs}`, `s${(runs += 1)}`, ' pdf xls '];
      return spawnSync('sh', args, { env: { PATH: path, WORKSPACE: workspace }, input });
    };
    const begin = () => {
      const workspace = mkdtempSync(join(folder, 'workspace-'));
      cpSync(begun, workspace, { recursive: true });
      return workspace;
    };
    const tree = (workspace: string) =>
      Object.fromEntries(
        readdirSync(join(workspace, 'skills/pdf'), { recursive: true, withFileTypes: true })
          .filter((each) => each.isFile() && each.name !== 'SKILL.md')
          .map((each) => join(each.parentPath, each.name))
          .map((file) => [file.slice(join(workspace, 'skills/pdf/').length), readFileSync(file, 'utf8')]),
      );
    const THIRD = {
      same: '1',
      changes: '3',
      mine: 'the user’s',
      goes: 'the user’s',
      'deep/new': '3',
      last: '3',
    };

    test('replaces what is its own, and leaves nothing but skills', () => {
      const workspace = begin();
      expect(place(workspace, third)).toMatchObject({ status: 0, stdout: Buffer.from('pdf/mine\n') });
      expect(tree(workspace)).toEqual(THIRD);
      expect(readdirSync(workspace)).toEqual(['skills']);
      expect(readdirSync(join(workspace, 'skills'))).toEqual(['.porthole', 'pdf', 'xls']);
    });

    test('changes nothing where its input is cut off', () => {
      const workspace = begin();
      const before = tree(workspace);
      expect(place(workspace, second.subarray(0, -3)).status).toBe(46);
      expect(tree(workspace)).toEqual(before);
      expect(readdirSync(workspace)).toEqual(['skills']);
    });

    test('may be killed anywhere: the next one takes nothing of its own for the user’s, and nothing of the user’s for its own', () => {
      let killed = 0;
      for (let line = 0; line < PLACE_SKILLS.split('\n').length; line += step) {
        const script = crashing(line);
        if (script === undefined) continue;
        const workspace = begin();
        if (place(workspace, second, script).signal === 'SIGKILL') killed += 1;
        const { status, stdout } = place(workspace, third);
        expect([line, status, stdout.toString()]).toEqual([line, 0, 'pdf/mine\n']);
        expect([line, tree(workspace)]).toEqual([line, THIRD]);
      }
      expect(killed).toBeGreaterThan(30 / step);
    }, 300_000);
  });
}
