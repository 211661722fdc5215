import { z } from 'zod';
import type { SkillRecord, SkillSummary } from '#core/ports/skills.ts';
import { SKILL_NAME, SKILL_NAME_RULE } from '#core/rules/skills/skill-name.ts';

export const SkillName = z.string().regex(SKILL_NAME, SKILL_NAME_RULE);

export const SkillPath = z.object({ name: SkillName });

/** As in the query of a URL. */
export const Shared = z
  .enum(['true', 'false'], 'must be true or false')
  .default('false')
  .transform((value) => value === 'true');

export const SkillDto = z
  .object({
    name: z.string(),
    description: z.string().describe('What it does and when to use it, for the model that chooses'),
    shared: z.boolean().describe("Whether it is everybody's; else it is yours"),
    digest: z.string().describe('SHA-256: another one for another content'),
    size: z.int().describe('All files together, in bytes'),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Skill' });

export const SkillDetailDto = SkillDto.extend({
  files: z.array(
    z.object({
      path: z.string().describe("Below the skill's folder"),
      size: z.int().describe('Bytes'),
      sha256: z.string(),
    }),
  ),
}).meta({ id: 'SkillDetail' });

export function toSkillDto({
  name,
  description,
  owner,
  digest,
  size,
  putAt,
}: SkillSummary): z.infer<typeof SkillDto> {
  return { name, description, shared: owner === null, digest, size, updated_at: putAt.toISOString() };
}

export function toSkillDetailDto(skill: SkillRecord): z.infer<typeof SkillDetailDto> {
  return {
    ...toSkillDto(skill),
    files: skill.files.map(({ path, size, sha256 }) => ({ path, size, sha256 })),
  };
}
