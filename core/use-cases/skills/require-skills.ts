import { PortholeError } from '../../errors.ts';
import type { Owner } from '../../ports/owner.ts';
import type { Records } from '../../ports/records.ts';
import type { SkillSummary } from '../../ports/skills.ts';

/** Files of all skills of a sandbox together, in bytes: what is held in memory while they are placed. */
const MAX_BYTES = 67_108_864;

/**
 * The skills of these names that the owner may use: the own one, else everybody's.
 * @throws PortholeError `skill_not_found` naming those that there are not, `invalid_request` where they are too much for one sandbox
 */
export async function requireSkills(
  { records }: { readonly records: Pick<Records, 'skills'> },
  owner: Owner,
  names: readonly string[],
): Promise<readonly SkillSummary[]> {
  if (names.length === 0) return [];
  const found = await records.skills.find(owner, names);
  const unknown = names.filter((name) => !found.some((skill) => skill.name === name));
  if (unknown.length > 0) throw skillNotFound(...unknown);
  const bytes = found.reduce((sum, { size }) => sum + size, 0);
  if (bytes > MAX_BYTES) {
    throw new PortholeError(
      'invalid_request',
      `skills: ${bytes} bytes of files are more than the ${MAX_BYTES} that a sandbox may begin with: name fewer.`,
    );
  }
  return found;
}

export function skillNotFound(...names: readonly string[]): PortholeError {
  const shown = names.map((name) => JSON.stringify(name)).join(', ');
  return new PortholeError(
    'skill_not_found',
    `There is no skill ${shown}: GET /api/skills lists yours and the shared ones, PUT /api/skills/{name} adds one.`,
  );
}
