import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { ownerOf, type Person } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import { MAX_PACKED_BYTES, putSkill } from '#core/skills/put-skill.ts';
import { skillNotFound } from '#core/skills/require-skills.ts';
import type { SkillRecord, SkillSummary } from '#core/skills/skill-store.ts';
import { withUpload } from '../http/limited-stream.ts';
import { pageLimit, pageResponse, queryFlag } from '../http/read-input.ts';
import { defineRoute, json } from '../route.ts';
import { SkillName } from './sandbox-schemas.ts';

const SkillPath = z.object({ name: SkillName });

const SkillDto = z
  .object({
    name: z.string(),
    description: z.string().describe('What it does and when to use it, for the model that chooses'),
    shared: z.boolean().describe('Whether it is shared; otherwise it is yours'),
    digest: z.string().describe('SHA-256 of its content'),
    size: z.int().describe('All files together, in bytes'),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Skill' });

const SkillDetailDto = SkillDto.extend({
  files: z.array(
    z.object({
      path: z.string().describe("Below the skill's folder"),
      size: z.int().describe('Bytes'),
      sha256: z.string(),
    }),
  ),
}).meta({ id: 'SkillDetail' });

function toSkillDto(skill: SkillSummary): z.infer<typeof SkillDto> {
  const { name, description, owner, digest, size, putAt } = skill;
  return { name, description, shared: owner === null, digest, size, updated_at: putAt.toISOString() };
}

function toSkillDetailDto(skill: SkillRecord): z.infer<typeof SkillDetailDto> {
  return {
    ...toSkillDto(skill),
    files: skill.files.map(({ path, size, sha256 }) => ({ path, size, sha256 })),
  };
}

/** Owner of the skill: the caller, or null for shared skills. @throws PortholeError `forbidden` */
function skillOwner(person: Person, isShared: boolean, action: string): Owner | null {
  if (!isShared) return ownerOf(person);
  if (person.admin) return null;
  throw new PortholeError('forbidden', `Only an admin can ${action} a shared skill`, {
    remedy: 'leave shared out for your own.',
  });
}

const deleteSkillRoute = defineRoute('deleteSkill', 'DELETE', '/api/skills/{name}', {
  tag: 'Skills',
  summary: 'Delete a skill',
  description: 'Sandboxes that have the skill keep it.',
  params: SkillPath,
  query: z.object({ shared: queryFlag().describe('The shared one; for admins') }),
  responses: { 204: { description: 'Removed' } },
  errors: ['skill_not_found'],
  async handle({ params, query, person }, { records }) {
    const owner = skillOwner(person, query.shared, 'delete');
    if (!(await records.skills.delete(owner, params.name))) throw skillNotFound(params.name);
    return { statusCode: 204, headers: {} };
  },
});

const getSkillRoute = defineRoute('getSkill', 'GET', '/api/skills/{name}', {
  tag: 'Skills',
  summary: 'Read about a skill',
  params: SkillPath,
  responses: { 200: { description: 'The skill, and its files', schema: SkillDetailDto } },
  errors: ['skill_not_found'],
  async handle({ params, person }, { records }) {
    const skill = await records.skills.get(ownerOf(person), params.name);
    if (skill === undefined) throw skillNotFound(params.name);
    return json(200, toSkillDetailDto(skill));
  },
});

const listSkillsRoute = defineRoute('listSkills', 'GET', '/api/skills', {
  tag: 'Skills',
  summary: 'List the skills that you may use, by name',
  description: 'Yours and the shared ones. Yours hides a shared one of the same name.',
  query: z.object({ limit: pageLimit, after: SkillName.optional().describe('`next` of the previous page') }),
  responses: pageResponse('skills', SkillDto, 'SkillList'),
  async handle({ query, person }, { records }) {
    const page = await records.skills.list(ownerOf(person), query);
    return json(200, { skills: page.items.map(toSkillDto), next: page.next });
  },
});

const putSkillRoute = defineRoute('putSkill', 'PUT', '/api/skills/{name}', {
  tag: 'Skills',
  summary: 'Add a skill, or replace it',
  description:
    "A tar, plain or compressed by gzip, of the skill's folder, with SKILL.md at its root (agentskills.io): at most 8 MiB sent, 32 MiB and 1,000 files unpacked. Sandboxes that have it get the new version at their next resume.",
  class: 'heavy',
  params: SkillPath,
  query: z.object({ shared: queryFlag().describe('Whether it is shared; for admins') }),
  body: 'stream',
  responses: {
    200: { description: 'Replaced', schema: SkillDetailDto },
    201: { description: 'Added', schema: SkillDetailDto },
  },
  streams: true,
  errors: ['payload_too_large', 'quota_exceeded'],
  async handle(request, services) {
    const { params, query, person } = request;
    const owner = skillOwner(person, query.shared, 'put');
    const packed = await withUpload(request, { bytes: MAX_PACKED_BYTES, tooLarge }, buffer);
    const { skill, isNew } = await putSkill(services, params.name, owner, packed);
    return json(isNew ? 201 : 200, toSkillDetailDto(skill));
  },
});

function tooLarge(bytes: number): PortholeError {
  return new PortholeError(
    'payload_too_large',
    `The skill has ${bytes} bytes or more; the maximum is ${MAX_PACKED_BYTES}`,
    { remedy: 'leave out what its agent does not read.' },
  );
}

export const skillRoutes = [listSkillsRoute, getSkillRoute, putSkillRoute, deleteSkillRoute];
