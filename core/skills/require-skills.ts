import { PortholeError } from '#base/errors.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import type { SkillSummary } from './skill-store.ts';

/** Most bytes of all skills of a sandbox: held in memory while they are placed. */
const MAX_BYTES = 67_108_864;

/**
 * The skills with these names that the owner may use: the owner's, else the shared one.
 * @throws PortholeError `skill_not_found` naming the missing ones, `invalid_request` if they are
 * too large for one sandbox
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
      `skills: ${bytes} bytes of files exceed the limit of ${MAX_BYTES} for a sandbox`,
      { remedy: 'name fewer.' },
    );
  }
  return found;
}

export function skillNotFound(...names: readonly string[]): PortholeError {
  const shown = names.map((name) => JSON.stringify(name)).join(', ');
  return new PortholeError('skill_not_found', `There is no skill ${shown}`, {
    remedy: 'GET /api/skills lists yours and the shared ones, PUT /api/skills/{name} adds one.',
  });
}
