import { z } from 'zod';
import { skillNotFound } from '#core/use-cases/skills/require-skills.ts';
import { defineRoute } from '../route.ts';
import { Shared, SkillPath } from './skill-dto.ts';
import { skillOwner } from './whose-skill.ts';

export const deleteSkillRoute = defineRoute({
  id: 'deleteSkill',
  method: 'DELETE',
  path: '/api/skills/{name}',
  tag: 'Skills',
  summary: 'Delete a skill',
  description: 'Sandboxes that have it keep it as it is.',
  access: 'caller',
  params: SkillPath,
  query: z.object({ shared: Shared.describe("Whether everybody's is meant; for admins") }),
  responses: { 204: { description: 'It is not there any more' } },
  errors: ['skill_not_found'],
  async handle({ params, query, caller }, { records }) {
    const owner = skillOwner(caller, query.shared, 'delete');
    if (!(await records.skills.delete(owner, params.name))) throw skillNotFound(params.name);
    return { statusCode: 204, headers: {} };
  },
});
