import { z } from 'zod';
import { ownerOf, requirePerson } from '#core/callers.ts';
import { pageLimit } from '../page-limit.ts';
import { defineRoute, json } from '../route.ts';
import { SkillDto, SkillName, toSkillDto } from './skill-dto.ts';

export const listSkillsRoute = defineRoute({
  id: 'listSkills',
  method: 'GET',
  path: '/api/skills',
  tag: 'Skills',
  summary: 'List the skills that you may use, by name',
  description: 'Yours, and the shared ones. Of two of one name it is yours.',
  access: 'caller',
  query: z.object({ limit: pageLimit, after: SkillName.optional().describe('`next` of the page before') }),
  responses: {
    200: {
      description: 'A page of skills; `next` is null on the last one',
      schema: z.object({ skills: z.array(SkillDto), next: z.string().nullable() }).meta({ id: 'SkillList' }),
    },
  },
  async handle({ query, caller }, { records }) {
    const person = requirePerson(caller, 'list skills');
    const page = await records.skills.list(ownerOf(person), query);
    return json(200, { skills: page.items.map(toSkillDto), next: page.next });
  },
});
