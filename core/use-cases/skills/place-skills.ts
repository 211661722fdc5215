import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Records } from '../../ports/records.ts';
import type { SandboxRecord } from '../../ports/sandbox-records.ts';
import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import type { PackedSkill, SandboxSkill } from '../../ports/skills.ts';
import { feedScript } from '../workspace-script.ts';
import { PLACE_SKILLS } from './place-script.ts';
import { requireSkills } from './require-skills.ts';
import { skillsArchive } from './skills-archive.ts';

export interface PlaceSkillsDeps {
  readonly records: Pick<Records, 'skills' | 'sandboxes'>;
  readonly provider: Pick<SandboxProvider, 'exec'>;
}

/** The longest that placing may take, in milliseconds: tens of megabytes on a slow disk. */
const WITHIN_MS = 120_000;
/** Of the names of files that were kept, in characters; the rest is not told. */
const MAX_OUTPUT = 262_144;
const MOST_KEPT = 100;

/**
 * Lays the skills that a sandbox was made with below `/workspace/skills`, as they are now, and writes down what came of it. One that lies there as it is costs nothing. Files that are not as they were placed are the
 * user's: they stay, and are told.
 * @throws PortholeError `skill_not_found`, `workspace_archive_write_error`, and what `exec` refuses
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

/** The same for a sandbox that has been in use: what is not there any more stays as it was placed. */
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

/** Returns the paths of what was kept. */
async function lay(
  provider: Pick<SandboxProvider, 'exec'>,
  sandboxId: string,
  skills: readonly PackedSkill[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const hidden = [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')];
  const names = ` ${skills.map(({ name }) => name).join(' ')} `;
  // Without the signal: it would kill the script before its trap has removed what it has made.
  const process = await provider.exec(sandboxId, {
    argv: ['sh', '-c', PLACE_SKILLS, 'sh', ...hidden, names],
    stdin: true,
  });
  const late = setTimeout(() => process.kill('SIGKILL'), WITHIN_MS);
  let output = '';
  process.stdout.setEncoding('utf8');
  process.stdout.on('data', (piece: string) => {
    if (output.length < MAX_OUTPUT) output += piece;
  });
  try {
    await feedScript(
      process,
      Readable.from(skillsArchive(skills)),
      (script) => script.failure('/workspace/skills', 'workspace_archive_write_error', 'skills not placed'),
      signal,
    );
  } finally {
    clearTimeout(late);
  }
  return output.split('\n').slice(0, -1);
}
