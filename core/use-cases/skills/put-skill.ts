import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { PortholeError } from '../../errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Owner } from '../../ports/owner.ts';
import type { Records } from '../../ports/records.ts';
import type { SkillRecord } from '../../ports/skills.ts';
import { tarEntry } from '../../rules/archive/write-tar.ts';
import { readFrontMatter } from '../../rules/skills/front-matter.ts';
import { skillError } from '../../rules/skills/skill-error.ts';
import { unpackSkill } from './unpack-skill.ts';

export interface PutSkillDeps {
  readonly records: Pick<Records, 'skills'>;
  readonly clock: Clock;
}

/** Skills of one owner: at most some hundred megabytes of the database. */
const MOST_OWN = 50;
const MOST_SHARED = 500;

const zip = promisify(gzip);

/**
 * Keeps a skill under its name, instead of the owner's that is there; says whether it is new. It is judged as a whole before anything of it is kept, and written anew: what the records hold is
 * ours, byte by byte.
 * @param owner null: everybody's
 * @throws PortholeError `invalid_request`, `quota_exceeded`
 */
export async function putSkill(
  { records, clock }: PutSkillDeps,
  name: string,
  owner: Owner | null,
  packed: Buffer,
): Promise<{ readonly skill: SkillRecord; readonly isNew: boolean }> {
  const files = await unpackSkill(packed);
  const about = files.find(({ path }) => path === 'SKILL.md');
  if (about === undefined) throw skillError('there is no SKILL.md at its root');
  const { name: named, description } = await readFrontMatter(about.content);
  if (named !== name) throw skillError(`SKILL.md names it ${named}, and the URL ${name}`);
  const tar = Buffer.concat(files.map((file) => tarEntry({ ...file, path: `${name}/${file.path}` })));
  const skill: SkillRecord = {
    name,
    owner,
    description,
    digest: sha256(tar),
    size: files.reduce((sum, { content }) => sum + content.length, 0),
    putAt: clock.now(),
    files: files.map(({ path, content }) => ({ path, size: content.length, sha256: sha256(content) })),
  };
  const most = owner === null ? MOST_SHARED : MOST_OWN;
  const done = await records.skills.put({ ...skill, archive: await zip(tar) }, most);
  if (done === 'too_many') {
    throw new PortholeError(
      'quota_exceeded',
      `There are ${most} ${owner === null ? 'shared skills' : 'skills of yours'} already, which is the most: delete one first.`,
    );
  }
  return { skill, isNew: done === 'added' };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
