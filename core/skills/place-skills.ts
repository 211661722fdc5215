import { Readable } from 'node:stream';
import { placedSkills } from '#protocol/guest/files-protocol.ts';
import { Guest } from '../processes/guest.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Records } from '../records.ts';
import { skillsArchive } from './put-skill.ts';
import { requireSkills } from './require-skills.ts';
import type { SandboxSkill } from './skill-store.ts';

interface PlaceSkillsDeps {
  readonly records: Pick<Records, 'skills' | 'sandboxes'>;
  readonly sandboxes: Pick<Sandboxes, 'callGuest'>;
}

/** The longest that placing may take, in milliseconds: tens of megabytes on a slow disk. */
const WITHIN_MS = 120_000;
const MAX_KEPT = 100;

/**
 * Places the current version of a sandbox's skills below `/workspace/skills`, and records the
 * result. Skips skills that are up to date. Files that the user has changed are kept and reported.
 * @param inUse whether the sandbox was made before: a skill deleted since stays as it was placed
 * @throws PortholeError `skill_not_found`, `workspace_archive_write_error`, and the errors of
 * `callGuest`
 */
export async function placeSkills(
  { records, sandboxes }: PlaceSkillsDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
  { inUse = false }: { readonly inUse?: boolean } = {},
): Promise<readonly SandboxSkill[]> {
  const { id, owner } = sandbox;
  const names = sandbox.skills.map(({ name }) => name);
  const found = inUse
    ? await records.skills.find(owner, names)
    : await requireSkills({ records }, owner, names);
  const stale = found.filter(
    ({ name, digest }) => sandbox.skills.find((skill) => skill.name === name)?.digest !== digest,
  );
  if (stale.length === 0) return sandbox.skills;
  const packed = await records.skills.load(
    owner,
    stale.map(({ name }) => name),
  );
  const options = { body: Readable.from(skillsArchive(packed)), answerWithin: WITHIN_MS, signal };
  const { value } = await new Guest(sandboxes, id).call('PUT', '/v1/skills', placedSkills, options);
  const skills = sandbox.skills.map((skill) => {
    const placed = packed.find(({ name }) => name === skill.name);
    if (placed === undefined) return skill;
    const own = value.changed.filter((path) => path.startsWith(`${skill.name}/`)).slice(0, MAX_KEPT);
    return { name: skill.name, digest: placed.digest, kept: own };
  });
  await records.sandboxes.setSkills(sandbox, skills);
  return skills;
}
