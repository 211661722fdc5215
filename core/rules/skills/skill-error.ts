import { PortholeError } from '../../errors.ts';

/** A skill that is not taken, and why. */
export function skillError(why: string): PortholeError {
  return new PortholeError(
    'invalid_request',
    `The skill is refused: ${why}. Send a tar of the skill's folder with SKILL.md at its root: tar -C pdf -cf - .`,
  );
}
