import { z } from 'zod';
import { environmentProblem } from '#core/sandboxes/sandbox-environment.ts';
import { ON_TIMEOUT } from '#core/sandboxes/sandbox-records.ts';
import { SKILL_NAME, SKILL_NAME_RULE } from '#core/skills/skill-store.ts';

/** Maximum number of tags of one sandbox. */
const MAX_TAGS = 32;
/** No colon: it ends the key in `tag=key:value`. */
const TAG = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

/** 63 characters, like names in Kubernetes. */
export const SandboxName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/,
    'must be 1 to 63 letters, digits, "_", "." or "-", beginning with a letter or digit',
  );

/**
 * Rejects NUL and lone surrogates: PostgreSQL cannot read JSON with either, and a query over such a
 * row fails.
 */
function isKept(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
const NOT_KEPT = 'must not contain a NUL character or a lone surrogate: remove it';

export const SessionKey = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must be at most 256 characters')
  .refine(isKept, NOT_KEPT);

export const Tags = z
  .record(
    z
      .string()
      .regex(TAG, 'a tag must be 1 to 63 letters, digits, "_", "." or "-", beginning with a letter or digit'),
    z.string('must be a string').max(256, 'must be at most 256 characters').refine(isKept, NOT_KEPT),
  )
  .refine((tags) => Object.keys(tags).length <= MAX_TAGS, `at most ${MAX_TAGS} tags`);

/** In seconds: from the resolution of a pass each minute to a week. */
export const TtlSeconds = z
  .int('must be a whole number of seconds')
  .min(10, 'must be at least 10 seconds')
  .max(604_800, 'must be at most 604800 seconds, which is 7 days');

/** In seconds: to a week. Passes are a minute apart. */
export const TimeoutSeconds = z
  .int('must be a whole number of seconds')
  .min(1, 'must be at least 1 second')
  .max(604_800, 'must be at most 604800 seconds, which is 7 days');

export const OnTimeoutDto = z.enum(ON_TIMEOUT, `must be one of ${ON_TIMEOUT.join(', ')}`);

export const Environment = z.record(z.string(), z.string('must be a string')).superRefine((env, context) => {
  const problem = environmentProblem(env);
  if (problem !== undefined) context.addIssue(problem);
});

export const SkillName = z.string().regex(SKILL_NAME, SKILL_NAME_RULE);

export const Skills = z
  .array(SkillName)
  .max(32, 'at most 32')
  .refine((names) => new Set(names).size === names.length, 'each only once');

/** `key:value`, once per tag; the key ends at the first colon. */
export const TagFilter = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}:/, 'must be key:value')
  .transform((text): readonly [string, string] => {
    const at = text.indexOf(':');
    return [text.slice(0, at), text.slice(at + 1)];
  });
