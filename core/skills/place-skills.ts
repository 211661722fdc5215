import { Readable } from 'node:stream';
import { placedSkills } from '#guest/protocol/files-protocol.ts';
import { jsonAnswer } from '../processes/guest-answers.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Records } from '../shared/records.ts';
import { skillsArchive } from './put-skill.ts';
import { requireSkills } from './require-skills.ts';
import type { PackedSkill, SandboxSkill } from './skill-store.ts';

interface PlaceSkillsDeps {
  readonly records: Pick<Records, 'skills' | 'sandboxes'>;
  readonly provider: Pick<Sandboxes, 'callGuest'>;
}

/** The longest that placing may take, in milliseconds: tens of megabytes on a slow disk. */
const WITHIN_MS = 120_000;
const MOST_KEPT = 100;

/**
 * Places the current version of a sandbox's skills below `/workspace/skills`, and records the
 * result. Skips skills that are up to date. Files that the user has changed are kept and reported.
 * @throws PortholeError `skill_not_found`, `workspace_archive_write_error`, and the errors of
 * `callGuest`
 */
export async function placeSkills(
  { records, provider }: PlaceSkillsDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<readonly SandboxSkill[]> {
  const names = sandbox.skills.map(({ name }) => name);
  const found = await requireSkills({ records }, sandbox.owner, names);
  return replaceStale({ records, provider }, sandbox, found, signal);
}

/** Like `placeSkills`, for a sandbox in use: a deleted skill stays as it was placed. */
export async function refreshSkills(
  { records, provider }: PlaceSkillsDeps,
  sandbox: SandboxRecord,
  signal?: AbortSignal,
): Promise<readonly SandboxSkill[]> {
  const names = sandbox.skills.map(({ name }) => name);
  const found = await records.skills.find(sandbox.owner, names);
  return replaceStale({ records, provider }, sandbox, found, signal);
}

async function replaceStale(
  { records, provider }: PlaceSkillsDeps,
  sandbox: SandboxRecord,
  found: readonly { readonly name: string; readonly digest: string }[],
  signal: AbortSignal | undefined,
): Promise<readonly SandboxSkill[]> {
  const stale = found.filter(
    ({ name, digest }) => sandbox.skills.find((skill) => skill.name === name)?.digest !== digest,
  );
  if (stale.length === 0) return sandbox.skills;
  const packed = await records.skills.load(
    sandbox.owner,
    stale.map(({ name }) => name),
  );
  const kept = await lay(provider, sandbox.id, packed, signal);
  const skills = sandbox.skills.map((skill) => {
    const placed = packed.find(({ name }) => name === skill.name);
    if (placed === undefined) return skill;
    const own = kept.filter((path) => path.startsWith(`${skill.name}/`)).slice(0, MOST_KEPT);
    return { name: skill.name, digest: placed.digest, kept: own };
  });
  await records.sandboxes.setSkills(sandbox, skills);
  return skills;
}

/** Returns the paths of the kept files. */
async function lay(
  provider: Pick<Sandboxes, 'callGuest'>,
  sandboxId: string,
  skills: readonly PackedSkill[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const body = Readable.from(skillsArchive(skills));
  const call = { method: 'PUT', path: '/v1/skills', body, answerWithin: WITHIN_MS } as const;
  const answer = await provider.callGuest(sandboxId, call, signal);
  return (await jsonAnswer(answer, sandboxId, placedSkills)).changed;
}
