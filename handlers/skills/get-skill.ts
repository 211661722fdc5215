import { ownerOf, requirePerson } from '#core/callers.ts';
import { skillNotFound } from '#core/use-cases/skills/require-skills.ts';
import { defineRoute, json } from '../route.ts';
import { SkillDetailDto, SkillPath, toSkillDetailDto } from './skill-dto.ts';

export const getSkillRoute = defineRoute({
  id: 'getSkill',
  method: 'GET',
  path: '/api/skills/{name}',
  tag: 'Skills',
  summary: 'Read about a skill',
  access: 'caller',
  params: SkillPath,
  responses: { 200: { description: 'The skill, and its files', schema: SkillDetailDto } },
  errors: ['skill_not_found'],
  async handle({ params, caller }, { records }) {
    const person = requirePerson(caller, 'read skills');
    const skill = await records.skills.get(ownerOf(person), params.name);
    if (skill === undefined) throw skillNotFound(params.name);
    return json(200, toSkillDetailDto(skill));
  },
});
