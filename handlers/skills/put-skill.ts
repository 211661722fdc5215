import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { putSkill } from '#core/use-cases/skills/put-skill.ts';
import { MAX_PACKED_BYTES } from '#core/use-cases/skills/unpack-skill.ts';
import { defineRoute, json } from '../route.ts';
import { readUpload } from './read-upload.ts';
import { Shared, SkillDetailDto, SkillPath, toSkillDetailDto } from './skill-dto.ts';
import { skillOwner } from './whose-skill.ts';

export const putSkillRoute = defineRoute({
  id: 'putSkill',
  method: 'PUT',
  path: '/api/skills/{name}',
  tag: 'Skills',
  summary: 'Add a skill, or replace it',
  description:
    "A tar, plain or compressed by gzip, of the skill's folder, with SKILL.md at its root (agentskills.io): at most 8 MiB as it is sent, 32 MiB and 1,000 files unpacked. Sandboxes that have it get the new one when they are resumed.",
  access: 'caller',
  class: 'heavy',
  params: SkillPath,
  query: z.object({ shared: Shared.describe("Whether it is everybody's; for admins") }),
  body: 'stream',
  responses: {
    200: { description: 'Replaced', schema: SkillDetailDto },
    201: { description: 'Added', schema: SkillDetailDto },
  },
  streams: true,
  errors: ['payload_too_large', 'quota_exceeded'],
  async handle({ params, query, caller, headers, stream }, services) {
    const owner = skillOwner(caller, query.shared, 'put');
    const packed = await readUpload({ headers, stream }, MAX_PACKED_BYTES, tooLarge);
    const { skill, isNew } = await putSkill(services, params.name, owner, packed);
    return json(isNew ? 201 : 200, toSkillDetailDto(skill));
  },
});

function tooLarge(bytes: number): PortholeError {
  return new PortholeError(
    'payload_too_large',
    `The skill has ${bytes} bytes or more, and at most ${MAX_PACKED_BYTES} are taken: leave out what its agent does not read.`,
  );
}
